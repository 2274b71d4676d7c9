// English names of languages by their codes, as ICU has them.

const names = new Intl.DisplayNames('en', { type: 'language', fallback: 'code' });

/** The English name in small letters: german for de, cantonese for yue. */
export const languageName = (code: string): string => (names.of(code) ?? code).toLowerCase();
