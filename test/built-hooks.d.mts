/** Returns the URL of a source's file in the build; null for other files. */
export function builtUrl(url: string): string | null;
