// English names of languages by their codes, as ICU has them.

const names = new Intl.DisplayNames('en', { type: 'language', fallback: 'code' });

/** The English name in small letters: german for de, cantonese for yue. */
export const languageName = (code: string): string => (names.of(code) ?? code).toLowerCase();

const LETTERS = Array.from('abcdefghijklmnopqrstuvwxyz');
/** Codes of two letters, and those of three that transcribers know, without old ones of other codes' languages. */
const CODES = [
  ...LETTERS.flatMap((first) => LETTERS.map((second) => first + second)),
  'fil',
  'haw',
  'yue',
].filter((code) => Intl.getCanonicalLocales(code)[0] === code && languageName(code) !== code);

/** The code that is meant by a code, with or without a region, or by an English name; of an unknown one the text itself. */
export function languageCodeOf(given: string): string {
  const wanted = given.trim().toLowerCase();
  const [plain = wanted] = wanted.split(/[-_]/);
  return (
    CODES.find((code) => code === plain) ?? CODES.find((code) => languageName(code) === wanted) ?? wanted
  );
}
