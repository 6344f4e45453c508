//! The sender's rules, one a test, with the RFC's section beside it.
