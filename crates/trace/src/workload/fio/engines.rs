//! I/O engines of fio: whether they wait for each completion, and which have no requests for a drive.
//!
//! Source: the flag `FIO_SYNCIO` in the folder `engines` of fio's repository (commit f5344384).

use wordline_kernel::nearest;

/// Requests of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Up to `iodepth` requests are outstanding.
    Asynchronous,
    /// One request is outstanding.
    Synchronous,
    /// The engine has no requests that a drive could serve.
    None(&'static str),
}

/// An engine.
#[derive(Debug, PartialEq)]
pub struct Engine {
    pub name: &'static str,
    pub waiting: Waiting,
    /// Device that fio would access instead of a block device.
    pub instead: Option<&'static str>,
    /// Whether its own options name the device, so that a job needs no file name.
    pub has_volume: bool,
    /// Whether it waits for the completion of each trim (`FIO_ASYNCIO_SYNC_TRIM`).
    pub waits_for_trims: bool,
}

impl Engine {
    /// Whether up to `iodepth` requests are outstanding.
    pub fn is_asynchronous(&self) -> bool {
        self.waiting == Waiting::Asynchronous
    }
}

const fn keeps(name: &'static str, instead: Option<&'static str>) -> Engine {
    Engine { name, waiting: Waiting::Asynchronous, instead, has_volume: false, waits_for_trims: false }
}

const fn volume(name: &'static str, instead: Option<&'static str>) -> Engine {
    Engine { has_volume: true, ..keeps(name, instead) }
}

const fn waits(name: &'static str, instead: Option<&'static str>) -> Engine {
    Engine { name, waiting: Waiting::Synchronous, instead, has_volume: false, waits_for_trims: true }
}

const fn none(name: &'static str, why: &'static str) -> Engine {
    Engine { name, waiting: Waiting::None(why), instead: None, has_volume: false, waits_for_trims: false }
}

const fn trims_alone(name: &'static str) -> Engine {
    Engine { waits_for_trims: true, ..keeps(name, None) }
}

const MEMORY: Option<&str> = Some("memory that the processor addresses");
const NETWORK: Option<&str> = Some("storage behind a network");
const NO_DEVICE: Option<&str> = Some("no device");
const METADATA: &str = "an engine with reads and writes: this one creates, deletes and examines files";
const PEER: &str = "an engine of a drive: this one talks to another host";
const NO_IO: &str = "an engine of a drive: this one has no I/O";

/// fio's default engine on Linux.
pub static DEFAULT: &Engine = &ENGINES[0];

/// All engines of fio.
pub static ENGINES: [Engine; 62] = [
    waits("psync", None),
    waits("sync", None),
    waits("vsync", None),
    waits("pvsync", None),
    waits("pvsync2", None),
    waits("mmap", None),
    trims_alone("libaio"),
    keeps("io_uring", None),
    keeps("io_uring_cmd", None),
    trims_alone("posixaio"),
    keeps("windowsaio", None),
    keeps("solarisaio", None),
    volume("libblkio", None),
    keeps("xnvme", None),
    waits("sg", None),
    waits("libzbc", None),
    waits("splice", None),
    waits("libcufile", None),
    waits("libhipfile", None),
    waits("mtd", Some("flash without a translation layer")),
    waits("libpmem", MEMORY),
    waits("dev-dax", MEMORY),
    keeps("null", NO_DEVICE),
    keeps("cpp_null", NO_DEVICE),
    volume("nbd", NETWORK),
    volume("rbd", NETWORK),
    keeps("rados", NETWORK),
    keeps("nfs", NETWORK),
    keeps("dfs", NETWORK),
    keeps("gfapi_async", NETWORK),
    waits("gfapi", NETWORK),
    waits("libhdfs", NETWORK),
    waits("http", NETWORK),
    waits("libiscsi", NETWORK),
    waits("ime_psync", NETWORK),
    waits("ime_psyncv", NETWORK),
    keeps("ime_aio", NETWORK),
    keeps("guasi", None),
    none("cpuio", NO_IO),
    none("exec", NO_IO),
    none("page_fault", NO_IO),
    none("filecreate", METADATA),
    none("filestat", METADATA),
    none("filedelete", METADATA),
    none("dircreate", METADATA),
    none("dirstat", METADATA),
    none("dirdelete", METADATA),
    none("ftruncate", METADATA),
    none("falloc", METADATA),
    none("e4defrag", "an engine with reads and writes: this one asks a file system to move data"),
    none("net", PEER),
    none("netsplice", PEER),
    none("rdma", PEER),
    none("librpma_apm_client", PEER),
    none("librpma_apm_server", PEER),
    none("librpma_gpspm_client", PEER),
    none("librpma_gpspm_server", PEER),
    none("binject", "an engine of a current kernel"),
    none("syslet-rw", "an engine of a current kernel"),
    none("pmemblk", "an engine of a current fio, such as libpmem"),
    none("null_async", "null or cpp_null"),
    none("external", "an engine of fio: its code is not known"),
];

/// Parses `ioengine`. On failure returns the values that are allowed.
pub fn engine(name: &str) -> Result<&'static Engine, String> {
    // `external:path` names a file with code.
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    match ENGINES.iter().find(|engine| engine.name == name) {
        Some(Engine { waiting: Waiting::None(why), .. }) => Err((*why).to_owned()),
        Some(engine) => Ok(engine),
        None => {
            let names: Vec<&str> = ENGINES.iter().map(|engine| engine.name).collect();
            let near = nearest(name, &names).unwrap_or("libaio");
            Err(format!("{near}, or another engine of fio, such as libaio, io_uring, psync or sync"))
        }
    }
}
