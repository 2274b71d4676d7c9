// Divides the tokens of a text into words, each of which can have its times. source: openai-whisper's tokenizer

/** Codes of languages that are written without spaces. */
const WITHOUT_SPACES = new Set(['zh', 'ja', 'th', 'lo', 'my', 'yue']);
const PUNCTUATION = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~';
/** Marks that belong to the word behind them, and to the one before them. */
const [OPENING, CLOSING] = ['"\'“¡¿([{-', '"\'.。,，!！?？:：”)]}、'];
/** What stands for bytes that are no character. */
const BROKEN = '\uFFFD';

export interface WordTokens {
  text: string;
  tokens: number[];
}

/** `textOf`: the text of tokens, in which bytes that are no character show. */
export function divideWords(
  ids: readonly number[],
  language: string,
  textOf: (ids: number[]) => string,
): WordTokens[] {
  const characters = divideCharacters(ids, textOf);
  return withPunctuation(WITHOUT_SPACES.has(language) ? characters : joinWords(characters));
}

/** The shortest runs of tokens that are whole characters. */
function divideCharacters(ids: readonly number[], textOf: (ids: number[]) => string): WordTokens[] {
  const whole = textOf([...ids]);
  const found: WordTokens[] = [];
  let [tokens, offset]: [number[], number] = [[], 0];
  for (const id of ids) {
    tokens.push(id);
    const text = textOf(tokens);
    const broken = text.indexOf(BROKEN);
    // The text may also hold a broken character of its own.
    const at = offset + broken;
    if (broken >= 0 && at < whole.length && whole[at] !== BROKEN) continue;
    found.push({ text, tokens });
    offset += text.length;
    tokens = [];
  }
  return found;
}

/** A space begins a word, and so does punctuation. */
function joinWords(parts: readonly WordTokens[]): WordTokens[] {
  const words: WordTokens[] = [];
  for (const { text, tokens } of parts) {
    const last = words.at(-1);
    if (!last || text.startsWith(' ') || PUNCTUATION.includes(text.trim()))
      words.push({ text, tokens: [...tokens] });
    else {
      last.text += text;
      last.tokens.push(...tokens);
    }
  }
  return words;
}

function withPunctuation(words: readonly WordTokens[]): WordTokens[] {
  const opened: WordTokens[] = [];
  for (const word of words.toReversed()) {
    const next = opened.at(-1);
    if (next && word.text.startsWith(' ') && OPENING.includes(word.text.trim())) prepend(next, word);
    else opened.push({ ...word });
  }
  const closed: WordTokens[] = [];
  for (const word of opened.toReversed()) {
    const before = closed.at(-1);
    if (before && !before.text.endsWith(' ') && CLOSING.includes(word.text)) {
      before.text += word.text;
      before.tokens = [...before.tokens, ...word.tokens];
    } else closed.push(word);
  }
  return closed;
}

function prepend(word: WordTokens, before: WordTokens): void {
  word.text = before.text + word.text;
  word.tokens = [...before.tokens, ...word.tokens];
}
