// Numbers of 16 bits as f32 values.

/** Value of the bits of an f16. */
export function halfValue(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

const word = new DataView(new ArrayBuffer(4));

/** Value of the bits of a bf16. */
export function bfloatValue(bits: number): number {
  word.setUint32(0, bits << 16);
  return word.getFloat32(0);
}

/** Bits of the bf16 nearest to a finite number, ties to even. */
export function bfloatBits(value: number): number {
  word.setFloat32(0, value);
  const bits = word.getUint32(0);
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

/** Values of a tensor of 16 bits. */
export function halfValues(bits: Uint16Array, dtype: string): Float32Array {
  return Float32Array.from(bits, dtype === 'F16' ? halfValue : bfloatValue);
}
