//! File formats: traces and tables as text, Arrow and Parquet, compressed or not, and traces of other tools.

pub mod arrow;
pub mod columnar;
pub mod compression;
pub mod import;
pub mod parquet;
pub mod table;
pub mod text;
pub mod trace;
