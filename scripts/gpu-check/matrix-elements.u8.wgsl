// Matrices of u8 are loaded from u32.
alias E = u32;
