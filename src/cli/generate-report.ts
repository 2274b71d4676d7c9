// What `svc generate` tells: lines and bars on standard error for people; on standard output the path of each picture, or with --json
// one object a line. Its `type` is that of an event of the engine, with everything but pixels, or one of
//   opened {model, pipeline, milliseconds}   options {options}        prompt {index, count, prompt, seed}, of a list: all
//   preview {path, sample, step}             saved {path, prompt, sample, seed, width, height}
//   failed {prompt, code, message}           finished {pictures, failed, milliseconds}
//   error {code, message}                    what ended the run before it was finished, or went wrong after it
// `warmup` {done, total} counts the kernels of a stage that are compiled, and may come again.

import { EngineError, type ImageEvent, type ImageModelInfo, type OpenEvent } from '../index.ts';
import { UsageError } from './exit.ts';
import { noteTyped } from './generate-names.ts';
import { resolvedText, type ResolvedValue } from './generate-resolved.ts';
import { createProgress, showOpening } from './progress.ts';
import { countText, createLog, sizeText, writeLine } from './terminal.ts';

const LONGEST_PROMPT = 100;

export interface SavedPicture {
  path: string;
  /** Counted from 0. */
  prompt: number;
  sample: number;
  seed: number;
  width: number;
  height: number;
}

export interface Report {
  opening(event: OpenEvent): void;
  opened(info: ImageModelInfo, milliseconds: number): void;
  options(options: Record<string, ResolvedValue>): void;
  note(message: string): void;
  prompt(index: number, count: number, prompt: string, seeds: readonly number[]): void;
  event(event: ImageEvent): void;
  preview(path: string, sample: number, step: number): void;
  saved(picture: SavedPicture): void;
  failed(prompt: number, code: string, message: string): void;
  /** What went wrong beside the pictures. */
  error(error: unknown): void;
  warn(message: string): void;
  finished(pictures: number, failed: number, milliseconds: number): void;
  interrupted(pictures: number): void;
  /** Removes the bar. */
  end(): void;
}

export function createReport({ json = false, quiet = false }: { json?: boolean; quiet?: boolean }): Report {
  const log = createLog(quiet ? 'warn' : 'info');
  const silent = { show: () => {}, event: () => {}, end: () => {} };
  const opening = quiet ? silent : showOpening(log);
  const steps = quiet ? silent : createProgress(log);
  const emit = (type: string, members: object) => {
    if (json) writeLine(JSON.stringify({ type, ...members }));
  };
  /** Hundredths of what is being loaded that were told. */
  let told = -1;
  const isNews = (event: OpenEvent): boolean => {
    if (event.type !== 'load') return true;
    const share = Math.floor((100 * event.bytes) / event.totalBytes);
    const news = share !== told;
    told = share;
    return news;
  };
  let where = '';
  let spent = 0;
  const warned = new Set<string>();
  const showStep = ({ sample, step, steps: total, milliseconds }: Extract<ImageEvent, { type: 'step' }>) => {
    spent = step === 1 ? milliseconds : spent + milliseconds;
    const label = sample === 0 ? where : `${where}, sample ${sample + 1}`;
    steps.show({ label, done: step, total, unit: 'steps', pace: spent / step / 1000 });
  };
  // Components are loaded when their turn comes, some of them between two steps.
  let loadingSince: number | null = null;
  const showLoaded = ({ bytes, totalBytes }: Extract<OpenEvent, { type: 'load' }>) => {
    loadingSince ??= performance.now();
    if (bytes < totalBytes) return;
    opening.end();
    log.info(`Loaded ${sizeText(totalBytes)} in ${seconds(performance.now() - loadingSince)}`);
    loadingSince = null;
  };
  return {
    opening(heard) {
      const event = heard.type === 'note' ? { ...heard, message: noteTyped(heard.message) } : heard;
      opening.event(event);
      if (event.type === 'load') showLoaded(event);
      if (isNews(event)) emit(event.type, event);
    },
    opened(info, milliseconds) {
      opening.end();
      const { name, pipeline, parameters, quantization, backend, adapter, memory } = info;
      const weights = quantization === 'none' ? 'as stored' : quantization;
      log.info(
        `Opened ${name} in ${seconds(milliseconds)}: ${pipeline}, ${(parameters / 1e6).toFixed(1)} M parameters ${weights}, backend ${backend}`,
      );
      log.info(
        `Memory: ${sizeText(memory.weights)} weights of ${sizeText(memory.budget)}; on ${adapter.description || adapter.device}`,
      );
      emit('opened', { model: name, pipeline, milliseconds });
    },
    options(options) {
      log.info(`Options: ${resolvedText(options)}`);
      emit('options', { options });
    },
    note(message) {
      log.info(message);
      emit('note', { message });
    },
    prompt(index, count, prompt, seeds) {
      where = `Prompt ${index + 1}/${count}`;
      const shown = prompt.length > LONGEST_PROMPT ? `${prompt.slice(0, LONGEST_PROMPT)}…` : prompt;
      log.info(`${where}: ${shown} (seed ${seeds.join(', ')})`);
      emit('prompt', { index, count, prompt, seed: seeds.length > 1 ? seeds : seeds[0] });
    },
    event(heard) {
      if (heard.type === 'image' || heard.type === 'preview') return;
      const event = heard.type === 'note' ? { ...heard, message: noteTyped(heard.message) } : heard;
      if (event.type === 'step') showStep(event);
      // Of several prompts each says what it shares with the others.
      if (event.type === 'note' && !warned.has(event.message)) log.warn(event.message);
      if (event.type === 'note') warned.add(event.message);
      if (event.type === 'unknown-words') {
        const { words, known = {} } = event;
        const named = words.map((word) =>
          Object.hasOwn(known, word) ? `${word} (it knows ${known[word]})` : word,
        );
        log.warn(
          `The model does not know: ${named.join(', ')}; a larger model, given with --model-path, knows more words.`,
        );
      }
      emit(event.type, event);
    },
    preview: (path, sample, step) => emit('preview', { path, sample, step }),
    saved(picture) {
      steps.end();
      log.success(`Saved ${picture.path} (seed ${picture.seed})`);
      if (json) emit('saved', picture);
      else writeLine(picture.path);
    },
    failed(prompt, code, message) {
      steps.end();
      log.error(`${where} failed: ${message}`);
      emit('failed', { prompt, code, message });
    },
    error(error) {
      log.error(error instanceof Error ? error.message : String(error));
      if (json) tellError(error);
    },
    warn(message) {
      log.warn(message);
      emit('note', { message });
    },
    interrupted(pictures) {
      steps.end();
      log.info(`Interrupted: ${countText(pictures, 'picture')} saved before`);
    },
    finished(pictures, failed, milliseconds) {
      const rest = failed > 0 ? `; ${countText(failed, 'prompt')} failed` : '';
      log.info(`Drew ${countText(pictures, 'picture')} in ${seconds(milliseconds)}${rest}`);
      emit('finished', { pictures, failed, milliseconds });
    },
    end() {
      opening.end();
      steps.end();
    },
  };
}

/** What ended the run, as an event on standard output. */
export function tellError(error: unknown): void {
  const known = error instanceof EngineError ? error.code : 'internal';
  const code = error instanceof UsageError ? 'bad_request' : known;
  const message = error instanceof Error ? error.message : String(error);
  writeLine(JSON.stringify({ type: 'error', code, message }));
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(milliseconds < 9950 ? 2 : 1)} s`;
}
