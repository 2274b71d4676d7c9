// A size as messages show it, in powers of 1024: 512 B, 1.5 KiB, 24 GiB. A round number of millions is what a user wrote so: 200 MB, 1.5 GB.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

const MILLION = 1e6;

export function bytesText(bytes: number): string {
  if (bytes >= MILLION && bytes % MILLION === 0 && bytes % 1024 ** 2 !== 0)
    return bytes >= 1e9 ? `${bytes / 1e9} GB` : `${bytes / MILLION} MB`;
  let value = bytes;
  let unit = 0;
  // Larger values would be shown with four digits.
  for (; value >= 999.5 && unit < UNITS.length - 1; unit += 1) value /= 1024;
  const digits = unit === 0 || value >= 99.95 || Number.isInteger(value) ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}
