// English names of languages by their codes, as ICU has them.

let names: Intl.DisplayNames | null = null;

/** The English name in small letters: german for de, cantonese for yue; of what is no code the text itself. */
export function languageName(code: string): string {
  // ICU calls an empty code "root".
  if (code === '') return '';
  names ??= new Intl.DisplayNames('en', { type: 'language', fallback: 'code' });
  try {
    return (names.of(code) ?? code).toLowerCase();
  } catch {
    return code;
  }
}

/** The code among `known` that is meant by a code, with or without a region, or by an English name; undefined: none of them. */
export function knownLanguage(given: string, known: readonly string[]): string | undefined {
  const wanted = given.trim().toLowerCase();
  const [plain = wanted] = wanted.split(/[-_]/);
  return (
    known.find((code) => code === wanted) ??
    known.find((code) => code === plain) ??
    known.find((code) => languageName(code) === wanted)
  );
}

let codes: readonly string[] | null = null;

/** Codes of two letters, and those of three that transcribers know, without old ones of other codes' languages. */
function allCodes(): readonly string[] {
  const letters = Array.from('abcdefghijklmnopqrstuvwxyz');
  codes ??= [
    ...letters.flatMap((first) => letters.map((second) => first + second)),
    ...['fil', 'haw', 'yue'],
  ].filter((code) => Intl.getCanonicalLocales(code)[0] === code && languageName(code) !== code);
  return codes;
}

/** The code that is meant by a code, with or without a region, or by an English name; of an unknown one the text itself. */
export const languageCodeOf = (given: string): string =>
  knownLanguage(given, allCodes()) ?? given.trim().toLowerCase();
