// Ids that do not repeat.

/** 32 random hexadecimal digits. `crypto.randomUUID` is missing where the page came over plain HTTP from another machine. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
