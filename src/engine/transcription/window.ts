// Writes about one window: at the first temperature whose text is likely and does not repeat itself. source: openai-whisper's decoding

import type { SpeechTokens } from './speech-tokens.ts';
import { drawToken, logprobOf, maskLogits, mostLikely, uniformAt } from './logit-rules.ts';

/** Computes the logits of the wanted positions of tokens; those before `first` were computed by an earlier call for the window. */
export type WriteTokens = (
  ids: readonly number[],
  at: { first: number; prompt: number; wanted: readonly number[] },
) => Promise<Float32Array[]>;

/** Computes how much the alignment heads look at each of the `seen` rows with sound, for each of a window's tokens from `first` on. */
export type AlignTokens = (ids: readonly number[], first: number, seen: number) => Promise<Float32Array[]>;

export interface WindowTokens {
  write: WriteTokens;
  align: AlignTokens;
}

export interface WindowRules {
  tokens: SpeechTokens;
  hasTimes: boolean;
  temperatures: readonly number[];
  compressionRatioThreshold: number | null;
  logprobThreshold: number | null;
  noSpeechThreshold: number | null;
  /** Most tokens that are written, and that the model takes in all. */
  maxTokens: number;
  context: number;
  seed: number;
  /** The text of tokens, without special ones and times. */
  textOf(tokens: readonly number[]): string;
}

export interface WrittenWindow {
  /** Without the token that ends it. */
  tokens: number[];
  /** Whether the token that ends it was written. */
  isEnded: boolean;
  text: string;
  temperature: number;
  averageLogprob: number;
  compressionRatio: number;
  noSpeechProbability: number;
  /** Whether nothing is said in the window. */
  isSilent: boolean;
}

/** `prompt`: what stands before the window's tokens; `start`: position of the token that begins them. */
export async function writeWindow(
  write: WriteTokens,
  prompt: readonly number[],
  start: number,
  rules: WindowRules,
): Promise<WrittenWindow> {
  const wanted = [...new Set([start, prompt.length - 1])];
  const first = await write(prompt, { first: 0, prompt: prompt.length, wanted });
  const { noSpeech } = rules.tokens;
  const noSpeechProbability = noSpeech === null ? 0 : Math.exp(logprobOf(first[0]!, noSpeech));
  const { compressionRatioThreshold: ratio, logprobThreshold: likely, noSpeechThreshold: silence } = rules;
  for (const [i, temperature] of rules.temperatures.entries()) {
    const { tokens, isEnded, averageLogprob } = await writeAt(
      temperature,
      write,
      prompt,
      first.at(-1)!,
      rules,
    );
    const text = rules.textOf(tokens);
    const compressionRatio = await compressionOf(text);
    const isUnlikely = likely !== null && averageLogprob < likely;
    const isSilent = silence !== null && noSpeechProbability > silence && (isUnlikely || likely === null);
    const isRepeated = ratio !== null && compressionRatio > ratio;
    if ((isUnlikely || isRepeated) && !isSilent && i + 1 < rules.temperatures.length) continue;
    return {
      ...{ tokens, isEnded, text, temperature, averageLogprob, compressionRatio },
      ...{ noSpeechProbability, isSilent },
    };
  }
  throw new Error('a window is written at one temperature at least');
}

async function writeAt(
  temperature: number,
  write: WriteTokens,
  prompt: readonly number[],
  first: Float32Array,
  { tokens, hasTimes, maxTokens, context, seed }: WindowRules,
): Promise<Pick<WrittenWindow, 'tokens' | 'isEnded' | 'averageLogprob'>> {
  const most = Math.min(maxTokens, context - prompt.length);
  const written: number[] = [];
  let logits: Float32Array = first.slice();
  let sum = 0;
  for (;;) {
    maskLogits(logits, written, tokens, hasTimes);
    const uniform = uniformAt(seed, prompt.length + written.length);
    const token = temperature === 0 ? mostLikely(logits) : drawToken(logits, temperature, uniform);
    sum += logprobOf(logits, token);
    if (token === tokens.end)
      return { tokens: written, isEnded: true, averageLogprob: sum / (written.length + 1) };
    written.push(token);
    if (written.length === most) return { tokens: written, isEnded: false, averageLogprob: sum / most };
    const ids = [...prompt, ...written];
    const at = ids.length - 1;
    logits = (await write(ids, { first: at, prompt: prompt.length, wanted: [at] }))[0]!;
  }
}

/** Bytes of a text to its bytes when compressed: texts that repeat themselves compress well. */
export async function compressionOf(text: string): Promise<number> {
  const bytes = new TextEncoder().encode(text);
  const deflated = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate'));
  return bytes.length / (await new Response(deflated).arrayBuffer()).byteLength;
}
