// The models of one `svc serve`: how each is opened, and opened again where its thread ends. Each runs in a thread of its own: one
// that ends takes no other with it.

import {
  type EmbeddingModel,
  type EmbeddingModelOptions,
  EngineError,
  type ImageModel,
  type ImageModelOptions,
  type OpenEvent,
  type TextModel,
  type TextModelOptions,
} from '../index.ts';
import { errorText } from './said.ts';
import type { Kind, RunningServer, ServableModel, ServedModel } from '../server/entry.ts';
import {
  type EngineOptions,
  toEmbeddingOptions,
  toModelOptions,
  toPipelineOptions,
} from './engine-options.ts';
import type { PlannedModel } from './serve-plan.ts';

/** `signal` gives the opening up. */
type Open<Options, Model> = (
  options: Options,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
) => Promise<Model>;

export type OpenTextModel = Open<TextModelOptions, TextModel>;

export interface Openers {
  text: OpenTextModel;
  image: Open<ImageModelOptions, ImageModel>;
  embedding: Open<EmbeddingModelOptions, EmbeddingModel>;
}

export interface Keeping {
  server: RunningServer;
  open: Openers;
  options: EngineOptions;
  /** The command ends: nothing is opened any more. */
  leaving: AbortSignal;
  onEvent(event: OpenEvent): void;
  onReady(served: ServedModel, model: ServableModel): void;
  /** A model ended, or could not be opened. */
  onTrouble(message: string): void;
}

/** Opens the models one after the other and keeps them open. Rejects where one cannot be opened, or none is left. */
export async function keepModels(models: PlannedModel[], keeping: Keeping): Promise<never> {
  const { server, onTrouble } = keeping;
  const places = models.map((model) => ({
    model,
    served: server.addModel({
      ...(model.names && { names: model.names }),
      ...(model.kind && { kind: model.kind }),
    }),
  }));
  const kept: Promise<Error>[] = [];
  for (const { model, served } of places) {
    try {
      const opened = await openModel(model, served, keeping);
      kept.push(keepOpen(model, served, opened, keeping));
    } catch (error) {
      if (!model.optional || !(error instanceof Error)) throw error;
      const reason = errorText(error);
      onTrouble(`${model.path} is not served: ${reason}`);
      served.failed(reason);
    }
  }
  const reasons = await Promise.all(kept);
  throw reasons[0] ?? new EngineError('internal', 'there is no model to serve');
}

/** Resolves with the reason once the model cannot be opened again. */
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
  const tell = (event: OpenEvent) => {
    // A pipeline's components may come and go later: that is no progress of its opening.
    if (isOpen && event.type !== 'note') return;
    served.progress(event);
    onEvent(event);
  };
  const openAs: Record<Kind, () => Promise<ServableModel>> = {
    text: () => open.text(toModelOptions(path, options), tell, leaving),
    image: () => open.image({ ...toPipelineOptions(path, options), prepare: true }, tell, leaving),
    embedding: () => open.embedding(toEmbeddingOptions(path, options), tell, leaving),
  };
  const model = await openAs[kind ?? 'text']().catch((error: unknown) => {
    const other = kind === null ? refusedKind(error) : null;
    if (other) return openAs[other]();
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

/** The kind of model in a folder, from the error with which a language model was refused. */
function refusedKind(error: unknown): Kind | null {
  if (!(error instanceof EngineError) || error.code !== 'unsupported') return null;
  if (error.param === 'model_index.json') return 'image';
  return error.param === 'modules.json' ? 'embedding' : null;
}
