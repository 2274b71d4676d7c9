// Twice the magnitudes of the eight floats of two exponent bits and one mantissa bit, in four bits each: 0, 1, 2, 3, 4, 6, 8, 12.
const DOUBLED = 0xc8643210u;
