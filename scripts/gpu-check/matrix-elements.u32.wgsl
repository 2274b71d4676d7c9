// Matrices of u32 are loaded from u32.
alias E = u32;
