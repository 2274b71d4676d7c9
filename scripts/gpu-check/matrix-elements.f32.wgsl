// Matrices of f32 are loaded from f32.
alias E = f32;
