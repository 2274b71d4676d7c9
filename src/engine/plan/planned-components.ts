// The components of an image pipeline as far as their headers go: pages are checked and their requests kept, nothing is placed or read.

import { EngineError } from '../../files/error.ts';
import { openComponentWeights } from '../../files/pipeline/pipeline-weights.ts';
import type { Pipeline, PipelineComponent } from '../../files/pipeline/pipeline-index.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';
import type { Device } from '../../gpu/device.ts';
import type { WeightRequest, WeightTable } from '../../models/weights.ts';
import type { ComponentAccess } from '../image/components.ts';
import { checkRequests } from '../weights/check.ts';
import { collect } from '../weights/collect.ts';
import type { UnreadModules } from '../weights/unread.ts';
import { assumingWeights, isMissing, requestedHeaders, statedDtype, type Headers } from './headers.ts';

/** A page of a component, with what it reads. */
export interface PlannedPage {
  component: string;
  requests: readonly WeightRequest[];
  headers: Headers;
  unread: UnreadModules;
}

/** No tokenizer is read for a plan; where one is asked for its special tokens it has none. */
const NO_TOKENIZER = { specials: {}, vocabSize: 1 } as unknown as Tokenizer;

export class PlannedComponents implements ComponentAccess {
  readonly device: Device;
  /** In the order in which they were checked. */
  readonly pages: PlannedPage[] = [];
  readonly #pipeline: Pipeline;
  readonly #headers: ReadonlyMap<string, Headers>;

  constructor(device: Device, pipeline: Pipeline, headers: ReadonlyMap<string, Headers>) {
    this.device = device;
    this.#pipeline = pipeline;
    this.#headers = headers;
  }

  get(name: string): PipelineComponent {
    const component = this.#pipeline.components[name];
    if (component) return component;
    throw new EngineError(
      'bad_checkpoint',
      `${this.#pipeline.path} has no ${name}: fetch the whole pipeline`,
      {
        param: 'model_index.json',
      },
    );
  }

  has(name: string): boolean {
    return this.#pipeline.components[name] !== undefined;
  }

  tokenizer(): Promise<Tokenizer> {
    return Promise.resolve(NO_TOKENIZER);
  }

  check(name: string, build: (weights: WeightTable) => unknown): void {
    const headers =
      this.#headers.get(name) ?? requestedHeaders(build, null, statedDtype(this.get(name).config));
    const { requests, ignored } = collect(headers.tensors, build);
    const unread = checkRequests({ requests, ignored }, headers.tensors);
    this.pages.push({ component: name, requests, headers, unread });
  }

  load(): never {
    throw new Error('a planned component has no weights');
  }
}

const FILE = 'diffusion_pytorch_model.safetensors';

/** Headers of each component's weights where they are there. */
export async function componentHeaders(
  pipeline: Pipeline,
  names: readonly string[],
): Promise<Map<string, Headers>> {
  const found = new Map<string, Headers>();
  for (const name of names) {
    const { folder } = pipeline.components[name]!;
    try {
      const { tensors, sources } = await openComponentWeights(assumingWeights(folder, FILE));
      await Promise.all(sources.map((source) => source.close()));
      found.set(name, { tensors, source: 'headers' });
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return found;
}
