// The output of `svc generate`: lines and bars on standard error for people; on standard output the path of each image, or with --json
// one object per line. Its `type` is that of an event of the engine, with everything but pixels, or one of
//   opened {model, pipeline, milliseconds}   options {options}        prompt {index, count, prompt, seed}, a list of seeds whole
//   preview {path, sample, step}             saved {path, prompt, sample, seed, width, height}, of a video with {frames, fps}
//   plan {budget, peak, host, stages, components, prefetch}, with --plan
//   failed {prompt, code, message}           finished {images, failed, milliseconds}
//   error {code, message}                    an error that ended the run, or one after its end
// `warmup` {done, total} counts the kernels of a stage that are compiled, and may come again.

import { bytesText } from '../../files/bytes-text.ts';
import {
  EngineError,
  type ImageEvent,
  type ImageMemoryPlan,
  type ImageModelInfo,
  type OpenEvent,
} from '../../index.ts';
import { UsageError } from '../process/exit.ts';
import { memoryPlanText } from './generate-plan.ts';
import { noteTyped } from './generate-names.ts';
import { resolvedText, type ResolvedValue } from './generate-resolved.ts';
import { createProgress, showOpening } from '../process/progress.ts';
import { countText } from '../../files/count-text.ts';
import { createLog, writeLine } from '../process/terminal.ts';

const LONGEST_PROMPT = 100;

export interface SavedImage {
  path: string;
  /** Index of the prompt, counted from 0. */
  prompt: number;
  sample: number;
  seed: number;
  width: number;
  height: number;
  /** Of a video. */
  frames?: number;
  fps?: number;
}

type Step = Extract<ImageEvent, { type: 'step' }>;
type Load = Extract<OpenEvent, { type: 'load' }>;

const SILENT = { show: () => {}, event: () => {}, end: () => {} };

export class Report {
  readonly #json: boolean;
  readonly #log: ReturnType<typeof createLog>;
  readonly #opening: ReturnType<typeof showOpening>;
  readonly #steps: ReturnType<typeof createProgress>;
  /** Label of the current prompt. */
  #where = '';
  /** Milliseconds of the steps so far of each sample: several may take their steps in turns. */
  readonly #spent = new Map<number, number>();
  /** Percentage of the loading that was reported last. */
  #reported = -1;
  /**
   * Time at which the current component began to load; components are loaded one after the other, some of them between two steps.
   */
  #loadingSince: number | null = null;
  /** What is saved. */
  #noun: 'image' | 'video' = 'image';
  readonly #warned = new Set<string>();

  constructor({ json = false, quiet = false }: { json?: boolean; quiet?: boolean }) {
    this.#json = json;
    this.#log = createLog(quiet ? 'warn' : 'info');
    this.#opening = quiet ? SILENT : showOpening(this.#log);
    this.#steps = quiet ? SILENT : createProgress(this.#log);
  }

  opening(event: OpenEvent): void {
    const named = withTypedNames(event);
    this.#opening.event(named);
    if (named.type === 'load') this.#showLoaded(named);
    if (this.#isNews(named)) this.#emit(named.type, named);
  }

  opened(info: ImageModelInfo, milliseconds: number): void {
    this.#opening.end();
    const { name, pipeline, parameters, quantization, svdquant, backend, adapter, memory } = info;
    const weights = svdquant ?? (quantization === 'none' ? 'as stored' : quantization);
    this.#log.info(
      `Opened ${name} in ${seconds(milliseconds)}: ${pipeline}, ${(parameters / 1e6).toFixed(1)} M parameters ${weights}, backend ${backend}`,
    );
    this.#log.info(
      `Memory: a budget of ${bytesText(memory.budget)} for ${bytesText(memory.weights)} of stored weights; on ${adapter.description || adapter.device}`,
    );
    this.#emit('opened', { model: name, pipeline, milliseconds });
  }

  /** Prints a plan on standard output. */
  plan(plan: ImageMemoryPlan): void {
    if (this.#json) this.#emit('plan', { ...plan });
    else writeLine(memoryPlanText(plan));
  }

  options(options: Record<string, ResolvedValue>): void {
    this.#log.info(`Options: ${resolvedText(options)}`);
    this.#emit('options', { options });
  }

  note(message: string): void {
    this.#log.info(message);
    this.#emit('note', { message });
  }

  prompt(index: number, count: number, prompt: string, seeds: readonly number[]): void {
    this.#where = `Prompt ${index + 1}/${count}`;
    const shown = prompt.length > LONGEST_PROMPT ? `${prompt.slice(0, LONGEST_PROMPT)}…` : prompt;
    this.#log.info(`${this.#where}: ${shown} (seed ${seeds.join(', ')})`);
    this.#emit('prompt', { index, count, prompt, seed: seeds.length > 1 ? seeds : seeds[0] });
  }

  event(event: ImageEvent): void {
    if (event.type === 'image' || event.type === 'preview') return;
    const named = withTypedNames(event);
    if (named.type === 'step') this.#showStep(named);
    // Several prompts may repeat a note; it is printed once.
    if (named.type === 'note' && !this.#warned.has(named.message)) this.#log.warn(named.message);
    if (named.type === 'note') this.#warned.add(named.message);
    if (named.type === 'unknown-words') this.#warnOfWords(named);
    this.#emit(named.type, named);
  }

  preview(path: string, sample: number, step: number): void {
    this.#emit('preview', { path, sample, step });
  }

  saved(image: SavedImage): void {
    this.#steps.end();
    if (image.frames !== undefined) this.#noun = 'video';
    this.#log.success(`Saved ${image.path} (seed ${image.seed})`);
    if (this.#json) this.#emit('saved', image);
    else writeLine(image.path);
  }

  failed(prompt: number, code: string, message: string): void {
    this.#steps.end();
    this.#log.error(`${this.#where} failed: ${message}`);
    this.#emit('failed', { prompt, code, message });
  }

  /** Reports an error that concerns no single image. */
  error(error: unknown): void {
    this.#log.error(error instanceof Error ? error.message : String(error));
    if (this.#json) writeError(error);
  }

  warn(message: string): void {
    this.#log.warn(message);
    this.#emit('note', { message });
  }

  finished(images: number, failed: number, milliseconds: number): void {
    const rest = failed > 0 ? `; ${countText(failed, 'prompt')} failed` : '';
    this.#log.info(`Generated ${countText(images, this.#noun)} in ${seconds(milliseconds)}${rest}`);
    this.#emit('finished', { images, failed, milliseconds });
  }

  interrupted(images: number): void {
    this.#steps.end();
    this.#log.info(`Interrupted: ${countText(images, this.#noun)} saved before`);
  }

  /** Removes the progress bar. */
  end(): void {
    this.#opening.end();
    this.#steps.end();
  }

  #emit(type: string, members: object): void {
    if (this.#json) writeLine(JSON.stringify({ type, ...members }));
  }

  /** Returns true if an event changes the percentage of loading, or is of another kind. */
  #isNews(event: OpenEvent): boolean {
    if (event.type !== 'load') return true;
    const share = Math.floor((100 * event.bytes) / event.totalBytes);
    const isNew = share !== this.#reported;
    this.#reported = share;
    return isNew;
  }

  #showLoaded({ bytes, totalBytes }: Load): void {
    this.#loadingSince ??= performance.now();
    if (bytes < totalBytes) return;
    this.#opening.end();
    this.#log.info(`Loaded ${bytesText(totalBytes)} in ${seconds(performance.now() - this.#loadingSince)}`);
    this.#loadingSince = null;
  }

  #showStep({ sample, step, steps: total, milliseconds }: Step): void {
    const spent = (step === 1 ? 0 : (this.#spent.get(sample) ?? 0)) + milliseconds;
    this.#spent.set(sample, spent);
    const label = sample === 0 ? this.#where : `${this.#where}, sample ${sample + 1}`;
    this.#steps.show({ label, done: step, total, unit: 'steps', pace: spent / step / 1000 });
  }

  #warnOfWords({ words, known = {} }: Extract<ImageEvent, { type: 'unknown-words' }>): void {
    const named = words.map((word) =>
      Object.hasOwn(known, word) ? `${word} (it knows ${known[word]})` : word,
    );
    this.#log.warn(
      `The model does not know: ${named.join(', ')}; a larger model, given with --model-path, knows more words.`,
    );
  }
}

/** Returns an event whose note names options as they are typed. */
function withTypedNames<E extends OpenEvent | ImageEvent>(event: E): E {
  return event.type === 'note' ? { ...event, message: noteTyped(event) } : event;
}

/** Writes the error that ended the run as an event on standard output. */
export function writeError(error: unknown): void {
  const known = error instanceof EngineError ? error.code : 'internal';
  const code = error instanceof UsageError ? 'bad_request' : known;
  const message = error instanceof Error ? error.message : String(error);
  writeLine(JSON.stringify({ type: 'error', code, message }));
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(milliseconds < 9950 ? 2 : 1)} s`;
}
