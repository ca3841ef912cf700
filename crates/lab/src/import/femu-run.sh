#!/bin/bash
# A small device in the form of FEMU's run-blackbox.sh, with numbers of our own.
secsz=512 # bytes
pages=64
size_mb=${SIZE_MB:-96}
OPTIONS="-device femu"
OPTIONS=${OPTIONS}",devsz_mb=${size_mb}"
OPTIONS=${OPTIONS}",femu_mode=1,secsz=${secsz},secs_per_pg=8,pgs_per_blk=${pages}"
OPTIONS=${OPTIONS}",blks_per_pl=128,pls_per_lun=1,luns_per_ch=2,nchs=2"
OPTIONS=${OPTIONS}",pg_rd_lat=30000,pg_wr_lat=150000,blk_er_lat=1500000,ch_xfer_lat=0"
OPTIONS=${OPTIONS}",gc_thres_pcent=80,gc_thres_pcent_high=90,gc_policy=random,nand_cell_type=3"

sudo ./qemu-system-x86_64 \
    -m 4G \
    -device virtio-scsi-pci,id=scsi0 \
    ${OPTIONS} \
    -nographic
