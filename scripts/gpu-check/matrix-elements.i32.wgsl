// Matrices of i32 are loaded from i32.
alias E = i32;
