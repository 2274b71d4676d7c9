// Matrices of f16 are loaded from f16.
enable f16;
alias E = f16;
