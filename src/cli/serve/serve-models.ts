// Opens the models of `svc serve`, and opens a model again if its thread ends. Each model runs in its own thread, so a crash of one
// does not affect the others.

import {
  type AnyKind,
  EngineError,
  MODEL_KINDS,
  type OpenEvent,
  type TextModel,
  type TextModelOptions,
} from '../../index.ts';
import { internalError } from '../../files/error.ts';
import { UsageError } from '../process/exit.ts';
import { errorText } from '../process/said.ts';
import type { RunningServer, ServableModel, ServedModel } from '../../server/entry.ts';
import { flagName, forModels, type ModelKind, type Setting } from '../../options/setting.ts';
import { type EngineOptions, toModelOptions } from '../options/engine-options.ts';
import type { Values } from '../options/option.ts';
import { cacheFromEnvironment } from '../options/cache-environment.ts';
import { settingsGiven } from '../options/setting-options.ts';
import type { PlannedModel } from './serve-plan.ts';
import { type SERVED_OPTIONS, SERVED_SETTINGS } from './server-options.ts';

export type ServedOptions = EngineOptions & Values<typeof SERVED_OPTIONS>;

/** `signal` cancels the opening. */
type Open<Options, Model> = (
  options: Options,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
) => Promise<Model>;

export type OpenTextModel = Open<TextModelOptions, TextModel>;

/** The functions that open models, by the names of the kinds. */
export type Openers = Readonly<Record<string, Open<never, ServableModel>>>;

export interface Keeping {
  server: RunningServer;
  open: Openers;
  options: ServedOptions;
  /** Aborted when the command ends; no model is opened afterwards. */
  leaving: AbortSignal;
  onEvent(event: OpenEvent): void;
  onReady(served: ServedModel, model: ServableModel): void;
  /** Called if a model ended or could not be opened. */
  onTrouble(message: string): void;
}

/** The options with the settings of step caches that the environment has, where none are given. */
function withCache(options: ServedOptions): ServedOptions {
  const cache = options['cache-dit-config'] ? null : cacheFromEnvironment(process.env);
  return cache ? { ...options, 'cache-dit-config': cache } : options;
}

/** Options with which the server opens a model of a kind. */
export const servedOptions = (kind: AnyKind, path: string, options: ServedOptions): never =>
  ({
    ...(toModelOptions(kind, path, options) as object),
    ...settingsGiven(forModels(SERVED_SETTINGS, kind.name as ModelKind), withCache(options)),
    ...kind.served,
  }) as never;

/** Returns the complaint about the first given option that no model of these kinds takes; null: each is taken. `given`: whether an option was given. */
export function spareSetting(kinds: readonly string[], given: (option: string) => boolean): string | null {
  const spare = Object.entries<Setting>(SERVED_SETTINGS).find(
    ([name, setting]) =>
      given(flagName(name, setting)) && !kinds.some((kind) => setting.models?.includes(kind as ModelKind)),
  );
  if (!spare) return null;
  const noun = spare[1].models?.includes('text') ? 'language' : 'image';
  return `--${flagName(...spare)} is for ${noun} models, and there is none among these`;
}

/** The kind as which a model is opened; one that its files do not tell is a language model, unless it is to judge. */
export const openedKind = ({ kind }: PlannedModel, { judge }: Pick<ServedOptions, 'judge'>): AnyKind =>
  kind ?? (judge ? MODEL_KINDS.embedding : MODEL_KINDS.text);

/** Throws UsageError where --judge does not say which model judges: language models that chat look the same. */
export function checkJudge(models: readonly PlannedModel[], options: Pick<ServedOptions, 'judge'>): void {
  if (!options.judge) return;
  const untold = models.filter(({ kind }) => kind === null);
  if (untold.length > 1)
    throw new UsageError(
      `--judge is for one language model, and each of ${untold.map(({ path }) => path).join(', ')} may be meant: serve the one that judges by a command of its own`,
    );
  if (!models.some((model) => openedKind(model, options) === MODEL_KINDS.embedding))
    throw new UsageError(
      '--judge is for a language model of --model-path that ranks documents, and there is none: name its folder or its id, or leave --judge out',
    );
}

/** Throws bad_request for options that a model would refuse when it is opened. */
export function checkModelOptions(models: readonly PlannedModel[], options: ServedOptions): void {
  for (const model of models) {
    const as = openedKind(model, options);
    if (!model.optional) as.check(servedOptions(as, model.path, options));
  }
}

/** Opens the models in order and keeps them open. Rejects if a required model cannot be opened, or once no model is left. */
export async function keepModels(models: PlannedModel[], keeping: Keeping): Promise<never> {
  const { server, onTrouble } = keeping;
  // A server that opens all its models on demand has none to keep.
  if (models.length === 0) return new Promise(() => {});
  const places = models.map((model) => ({
    model,
    served: server.addModel({
      ...(model.names && { names: model.names }),
      ...(model.kind && { kind: model.kind }),
    }),
  }));
  const kept: Promise<Error>[] = [];
  const kinds = models.flatMap(({ kind }) => (kind ? [kind.name] : []));
  for (const { model, served } of places) {
    try {
      const opened = await openModel(model, served, keeping);
      kinds.push(opened.info.kind);
      kept.push(keepOpen(model, served, opened, keeping));
    } catch (error) {
      if (!model.optional || !(error instanceof Error)) throw error;
      const reason = errorText(error);
      onTrouble(`${model.path} is not served: ${reason}`);
      served.failed(reason);
    }
  }
  const spare = spareSetting(kinds, (name) => name in keeping.options);
  if (spare !== null) onTrouble(`${spare}: it has no effect`);
  const reasons = await Promise.all(kept);
  throw reasons[0] ?? internalError('there is no model to serve');
}

/** Opens a model again whenever it ends; resolves with the error when that fails. */
async function keepOpen(
  planned: PlannedModel,
  served: ServedModel,
  first: ServableModel,
  keeping: Keeping,
): Promise<Error> {
  let model = first;
  for (;;) {
    const end = await model.ended;
    if (keeping.leaving.aborted) return end;
    keeping.onTrouble(`${errorText(end)}. Opening ${planned.path} again.`);
    served.lost();
    try {
      model = await openModel(planned, served, keeping);
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      const said = errorText(reason);
      keeping.onTrouble(`${planned.path} is no longer served: ${said}`);
      served.failed(said);
      return reason;
    }
  }
}

async function openModel(
  planned: PlannedModel,
  served: ServedModel,
  { open, options, leaving, onEvent, onReady }: Keeping,
): Promise<ServableModel> {
  const { path, kind } = planned;
  let isOpen = false;
  const report = (event: OpenEvent) => {
    // Components of an open pipeline may be loaded again later; those events do not belong to the opening.
    if (isOpen && event.type !== 'note') return;
    served.progress(event);
    onEvent(event);
  };
  const openAs = (as: AnyKind): Promise<ServableModel> =>
    open[as.name]!(servedOptions(as, path, options), report, leaving);
  const model = await openAs(openedKind(planned, options)).catch((error: unknown) => {
    const other = kind === null ? refusedKind(error) : undefined;
    if (other) return openAs(other);
    throw error;
  });
  isOpen = true;
  if (leaving.aborted) {
    await model.close();
    return model;
  }
  served.ready(model);
  onReady(served, model);
  return model;
}

/** Returns the kind of model in a folder, derived from the error with which a language model was refused. */
function refusedKind(error: unknown): AnyKind | undefined {
  if (!(error instanceof EngineError) || error.code !== 'unsupported') return undefined;
  const { param } = error;
  if (param === null) return undefined;
  return Object.values<AnyKind>(MODEL_KINDS).find(
    ({ file, classes }) => file === param || classes?.includes(param),
  );
}
