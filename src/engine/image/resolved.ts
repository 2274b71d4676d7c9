// Data of resolving an image request: what a pipeline brings to it, and the request with every value decided.

import type { CallArguments } from './call-arguments.ts';
import type { CalledModel, FamilyModel } from './families/family.ts';
import type { PipelineEntry } from './families/registry.ts';
import type { ImageEvent, ImageRequest, ResolvedImageRequest } from './image-model.ts';

/** Defaults of a model. */
export interface ModelDefaults {
  width: number;
  height: number;
  steps?: number | undefined;
  guidance?: number | undefined;
  negativePrompt?: string | undefined;
  /** Hints that values were taken from, where no file states them. */
  defaultsFrom?: Readonly<Partial<Record<keyof ResolvedImageRequest, string>>>;
}

export interface ResolveContext {
  pipeline: PipelineEntry;
  model: CalledModel;
  /** Width and height are multiples of it. */
  sizeMultiple: number;
  defaults: ModelDefaults;
  backend: ResolvedImageRequest['backend'];
  /** Names that `scheduler` takes; the first is the checkpoint's own. */
  schedulers: readonly string[];
  /** The name under which a given scheduler runs; throws bad_request for those that this checkpoint does not take. */
  schedulerOf(name: string): string;
  /** Steps that call arguments list for a schedule; undefined: they list none. */
  stepsOf(call: CallArguments, scheduler: string): number | undefined;
  /** Layers of the text encoder that clip skip may leave out; 0: the family has none. */
  mostClipSkip: number;
  /** The model fills masks and does nothing else. */
  needsMask: boolean;
  checkRequest?: FamilyModel['checkRequest'];
}

export interface Resolved {
  event: Extract<ImageEvent, { type: 'resolved' }>;
  request: ImageRequest;
  call: CallArguments;
}
