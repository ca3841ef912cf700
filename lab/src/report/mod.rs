//! Reports: the table on the terminal, JSON, and one self-contained HTML page.
