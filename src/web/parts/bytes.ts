// Sizes as people read them.

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** Three digits at most, in powers of 1000: 1536000 becomes "1.54 MB". */
export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${Number((bytes / 1000 ** power).toPrecision(3))} ${UNITS[power]}`;
}
