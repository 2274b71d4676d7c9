// Matrices of i8 are loaded from i32.
alias E = i32;
