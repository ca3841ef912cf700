//! Effects of complete commands.

use std::rc::Rc;

use wordline_nand::interface::{BusFile, Interface};

use super::{Activity, Done, Output, Target, When};

impl Target {
    /// Executes the phrase, which is a complete command. Returns whether a LUN or the target becomes busy.
    pub(super) fn complete(&mut self, when: When) -> Done<bool> {
        let phrase = std::mem::take(&mut self.phrase);
        let busy = self.carry_out(&phrase, when)?;
        if !matches!(phrase.as_str(), "a2" | "a3" | "a4") {
            self.close();
        }
        Ok(busy)
    }

    fn carry_out(&mut self, phrase: &str, when: When) -> Done<bool> {
        let (first, last) = (&phrase[..2], &phrase[phrase.len() - 2..]);
        match first {
            "a2" | "a3" | "a4" => self.prefix = u8::from_str_radix(first, 16).ok(),
            "70" if self.lost_status => return Err("no LUN is selected"),
            "70" => self.put_status(Output::Status, when),
            "f2" | "f3" | "f4" | "f5" => {
                let lun = self.require_lun(usize::from(first.as_bytes()[1] - b'2'))?;
                self.put_status(Output::LunStatus(lun), when);
            }
            "78" => {
                let (lun, place) = self.place(self.latched_row(), true)?;
                let plane = self.luns[lun].plane(place.0);
                (self.selected, self.luns[lun].out_plane) = (lun, plane);
                (self.lost_status, self.lost_data) = (false, false);
                self.put_status(Output::PlaneStatus(lun, plane), when);
                if self.before == Output::Nothing {
                    self.before = Output::Register;
                }
            }
            "90" => {
                if !matches!(self.address[0], 0x00 | 0x20 | 0x40) {
                    return Err("no such identity");
                }
                self.output = Output::Identity(self.address[0]);
                self.luns[self.selected].column = 0;
                self.edges.note("register", when.end);
            }
            "e1" if self.address[0] != self.luns[0].features[&0x58][0] => return Err("no such volume"),
            "e1" | "e2" => {
                if first == "e2" {
                    self.require_lun(usize::from(self.address[0]))?;
                    self.require(0, phrase, when.begin)?;
                }
            }
            "05" | "06" => self.change_column(phrase, when)?,
            "00" if last == "e0" => self.change_column(phrase, when)?,
            "ec" | "ed" | "ee" | "ef" | "d4" | "d5" | "f9" | "d9" => {
                self.settings(phrase, when)?;
                return Ok(true);
            }
            "ff" | "fc" | "fa" => {
                self.reset(first, when)?;
                return Ok(true);
            }
            _ => {
                self.array(phrase, when)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn put_status(&mut self, status: Output, when: When) {
        let before = std::mem::replace(&mut self.output, status);
        if !before.is_status() {
            self.before = before;
        }
        self.edges.note("register", when.end);
    }

    fn change_column(&mut self, phrase: &str, when: When) -> Done<()> {
        let column = self.latched_column();
        if phrase.starts_with("05") {
            self.require(self.selected, phrase, when.begin)?;
            let source = if self.output.is_status() { &self.before } else { &self.output };
            match source {
                Output::Nothing => return Err("nothing was read"),
                Output::Bytes(bytes) if column as usize >= bytes.len() => return Err("no such column"),
                Output::Bytes(_) => {}
                Output::Register if self.luns[self.selected].plane_lost => {
                    return Err("no plane is selected");
                }
                _ => _ = self.require_column(column)?,
            }
            if self.output.is_status() {
                self.output = std::mem::replace(&mut self.before, Output::Nothing);
            }
            if !matches!(self.output, Output::Bytes(_)) {
                self.output = Output::Register;
            }
        } else {
            let row = self.row.unwrap_or_else(|| self.latched_row());
            let (lun, place) = self.place(row, true)?;
            self.require(lun, phrase, when.begin)?;
            self.require_column(column)?;
            let plane = self.luns[lun].plane(place.0);
            (self.selected, self.luns[lun].out_plane) = (lun, plane);
            self.luns[lun].plane_lost = false;
            (self.lost_data, self.output) = (false, Output::Register);
        }
        self.luns[self.selected].column = column;
        self.edges.note("read column", when.end);
        Ok(())
    }

    /// Handles parameter page, unique ID, features and calibration.
    fn settings(&mut self, phrase: &str, when: When) -> Done<()> {
        let whole = phrase.starts_with('e');
        let lun = if whole { self.selected } else { self.require_lun(usize::from(self.address[0]))? };
        self.require(lun, phrase, when.begin)?;
        let feature = *self.address.last().expect("there is an address");
        let time = match &phrase[..2] {
            "ec" | "ed" => {
                if feature != 0 {
                    return Err("no such page");
                }
                let page = &self.pages[usize::from(phrase.starts_with("ed"))];
                self.output = Output::Bytes(Rc::clone(page));
                self.facts.read.iter().copied().max().unwrap_or(0)
            }
            "ee" | "d4" => {
                let held = self.luns[lun].features.get(&feature).ok_or("no such feature")?;
                self.output = Output::Bytes(Rc::new(held.map(u16::from).to_vec()));
                self.timing.t_feat.ps()
            }
            "ef" | "d5" => {
                // The timing mode applies to all LUNs of the target, because they share its bus.
                let whole = whole || feature == 0x01;
                for other in 0..if whole { self.luns.len() } else { 0 } {
                    self.require(other, phrase, when.begin)?;
                }
                self.set_feature(feature, lun, whole, when)?;
                self.timing.t_feat.ps()
            }
            "f9" => self.timing.t_zqcl.ps(),
            _ => self.timing.t_zqcs.ps(),
        };
        if matches!(&phrase[..2], "ec" | "ed" | "ee" | "d4") {
            (self.selected, self.luns[lun].column) = (lun, 0);
        }
        let until = when.busy_at + time;
        if whole {
            self.held = self.held.max(until);
        } else {
            self.luns[lun].held = self.luns[lun].held.max(until);
        }
        Ok(())
    }

    fn set_feature(&mut self, feature: u8, lun: usize, whole: bool, when: When) -> Done<()> {
        let word: [u8; 4] = [0, 1, 2, 3].map(|n| self.feature[n]);
        self.luns[lun].features.get(&feature).ok_or("no such feature")?;
        let bits = match feature {
            0x01 => [0x3f, 1, 0, 0],
            0x02 => [0xf7, 0, 0, 0],
            0x10 => [3, 0, 0, 0],
            0x58 => [0x0f, 0, 0, 0],
            0x89 => [7, 0, 0, 0],
            0x90 => [8, 0, 0, 0],
            _ => [1, 0, 0, 0],
        };
        let meant = word.iter().zip(bits).all(|(byte, bits)| byte & !bits == 0);
        if !meant || (feature == 0x01 && !self.has_mode(word)) {
            return Err("no such setting");
        }
        let luns = if whole { 0..self.luns.len() } else { lun..lun + 1 };
        self.luns[luns].iter_mut().for_each(|lun| {
            lun.features.insert(feature, word);
        });
        if whole && feature == 0x01 {
            self.edges.note("interface", when.end);
            self.follow();
        }
        Ok(())
    }

    /// Whether the part has the mode in `word`. P1 contains the interface (0 is SDR, 2 is NV-DDR2) and the
    /// mode. A part has the modes of its interface up to its own, and all modes of SDR.
    fn has_mode(&self, word: [u8; 4]) -> bool {
        let own = self.own_mode();
        let slower = word[0] >> 4 == own >> 4 && word[0] <= own;
        let sdr = word[0] >> 4 == 0 && own >> 4 != 0 && word[0] <= 5;
        word[1] == 0 && (slower || sdr)
    }

    fn own_mode(&self) -> u8 {
        let code = if self.facts.file.bus.interface == Interface::Sdr { 0 } else { 0x20 };
        code | self.facts.file.bus.mode.expect("the parts name their modes")
    }

    /// Sets the interface to the mode in the features of the first LUN.
    fn follow(&mut self) {
        let word = self.luns[0].features[&0x01][0];
        let interface = if word >> 4 == 0 { Interface::Sdr } else { Interface::NvDdr2 };
        self.timing = BusFile::new(interface, word & 0xf).check().expect("the mode is one of the part's");
    }

    /// Sets the features to their values after FFh.
    pub(super) fn wake(&mut self) {
        let mode = if self.power_on { 0 } else { self.own_mode() };
        let (strobed, slc) = (self.own_mode() >= 0x20, self.facts.slc.is_some());
        for lun in &mut self.luns {
            let features = &mut lun.features;
            for kept in [0x10, 0x30, 0x58, 0x90] {
                features.entry(kept).or_insert([if kept == 0x10 { 2 } else { 0 }, 0, 0, 0]);
            }
            features.insert(0x01, [mode, 0, 0, 0]);
            features.insert(0x89, [0; 4]);
            if strobed {
                features.insert(0x02, [0; 4]);
            }
            if slc {
                features.insert(0x91, [0; 4]);
            }
        }
        self.follow();
    }

    fn reset(&mut self, first: &str, when: When) -> Done<()> {
        let one = if first == "fa" { Some(self.place(self.latched_row(), true)?.0) } else { None };
        for (n, lun) in self.luns.iter_mut().enumerate() {
            if one.is_none_or(|one| one == n) {
                lun.reset(when.busy_at);
            }
        }
        (self.output, self.before) = (Output::Nothing, Output::Nothing);
        (self.refused, self.selected) = (false, one.unwrap_or(0));
        if one.is_none() {
            (self.lost_status, self.lost_data) = (false, false);
            self.held = self.held.min(when.busy_at);
        }
        if first == "ff" {
            self.asleep = false;
            self.wake();
        }
        Ok(())
    }

    fn array(&mut self, phrase: &str, when: When) -> Done<()> {
        let second = u8::from_str_radix(&phrase[phrase.len() - 2..], 16).unwrap_or(0);
        let first = &phrase[..2];
        let suspends = matches!(first, "84" | "61");
        let (lun, place) = match (first, self.loading) {
            ("31" | "3f", _) => (self.selected, (0, 0)),
            (_, Some(loading)) => (loading.lun, loading.place),
            ("00", _) => self.place(self.latched_row(), false)?,
            _ => self.place(self.latched_row(), true)?,
        };
        if !suspends {
            self.require(lun, phrase, when.begin)?;
        }
        if first == "00" {
            self.require_column(self.latched_column())?;
        }
        self.selected = lun;
        // A3h and A4h are prefixes of research parts.
        if self.prefix.is_some_and(|prefix| prefix != 0xa2) {
            return Err("not of this part");
        }
        let port = &mut self.luns[lun];
        let slc = self.prefix.is_some() || port.features.get(&0x91).is_some_and(|on| on[0] == 1);
        let (now, protected) = (when.busy_at, when.protected);
        match first {
            "00" => port.read(place, second, slc, now)?,
            "31" => port.read_on(now)?,
            "3f" => port.read_end(now)?,
            "60" => port.erase(place.0, second == 0xd1, slc, now, protected)?,
            "80" | "85" => port.program(place, first == "85", second, slc, now, protected)?,
            "84" | "61" => port.suspend(first == "61", now)?,
            _ => port.resume(now)?,
        }
        let others = self
            .luns
            .iter()
            .enumerate()
            .any(|(n, port)| n != lun && port.activity(when.begin) != Activity::Idle);
        if others {
            (self.lost_status, self.lost_data) = (true, true);
        }
        if matches!((first, second), ("00", 0x30 | 0x31 | 0x35) | ("31" | "3f", _)) {
            self.luns[lun].column = if first == "00" { self.latched_column() } else { 0 };
            self.output = Output::Register;
        }
        Ok(())
    }
}
