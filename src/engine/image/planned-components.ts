// The components of an image pipeline by their headers: weights that are not read, the pages that are built on them, and a tokenizer that
// stands for those of the pipeline.

import type { EmbeddedWord } from '../../files/pipeline/embedded-words.ts';
import { checkTokenizerFiles } from '../../files/checkpoint/tokenizer-files.ts';
import type { Weights } from '../../files/checkpoint/shards.ts';
import { chooseWeights, openComponentWeights } from '../../files/pipeline/pipeline-weights.ts';
import type { Pipeline, PipelineComponent } from '../../files/pipeline/pipeline-index.ts';
import { BYTE_TOKENIZER } from '../../files/tokenizer/byte-tokens.ts';
import { SPIECE } from '../../files/tokenizer/sentencepiece.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';
import type { Device } from '../../gpu/device.ts';
import type { WeightTable } from '../../models/weights.ts';
import type { ComponentAccess } from './components/components.ts';
import type { TensorHeaders } from '../weights/check.ts';
import { requestedHeaders, statedDtype, type PlannedHeader } from '../plan/headers.ts';
import { NOWHERE } from '../plan/planned-checkpoint.ts';
import { plannedPage, type PlannedPage } from '../plan/planned-weights.ts';
import { componentOf } from './components/component-files.ts';

/** Tokens of the prompt that images are planned with. */
export const PROMPT_TOKENS = 64;

/** Stands for every tokenizer, none of which is read for a plan. */
export const PLANNED_TOKENIZER = {
  specials: {},
  vocabSize: 3,
  eosId: null,
  tokenToId: () => null,
  encode: () => Array<number>(PROMPT_TOKENS).fill(0),
} as unknown as Tokenizer;

/** Collects the pages that a pipeline builds on its components, where their headers allow that. */
export class PageCollector implements ComponentAccess {
  readonly device: Device;
  /** In the order in which they were checked. */
  readonly pages: PlannedPage[] = [];
  readonly #pipeline: Pipeline;
  readonly #weights: ReadonlyMap<string, Weights>;

  constructor(device: Device, pipeline: Pipeline, weights: ReadonlyMap<string, Weights>) {
    this.device = device;
    this.#pipeline = pipeline;
    this.#weights = weights;
  }

  get words(): readonly EmbeddedWord[] {
    return this.#pipeline.words ?? [];
  }

  get names(): string[] {
    return Object.values(this.#pipeline.components)
      .filter(({ kind }) => kind === 'model')
      .map(({ name }) => name);
  }

  get(name: string): PipelineComponent {
    return componentOf(this.#pipeline, name);
  }

  has(name: string): boolean {
    return this.#pipeline.components[name] !== undefined;
  }

  tokenizer(): Promise<Tokenizer> {
    return Promise.resolve(PLANNED_TOKENIZER);
  }

  check(name: string, build: (weights: WeightTable) => unknown): void {
    const tensors: TensorHeaders =
      this.#weights.get(name)?.tensors ?? requestedHeaders(build, null, statedDtype(this.get(name).config));
    this.pages.push(plannedPage(name, tensors, build));
  }

  load(): never {
    throw new Error('a planned component has no weights');
  }
}

/** Headers of the weights of these components; their files are closed again. Throws bad_checkpoint where weights or tokenizers are missing. */
export async function componentHeaders(
  { components, path }: Pipeline,
  names: readonly string[],
): Promise<Map<string, Weights>> {
  const found = new Map<string, Weights>();
  for (const name of names) {
    const { folder, weights: open } = components[name]!;
    const weights = await (open?.() ?? openComponentWeights(folder));
    await Promise.all(weights.sources.map((source) => source.close()));
    found.set(name, { ...weights, sources: [] });
  }
  for (const { kind, folder, className } of Object.values(components))
    // Tokenizers of a model in one file are those that ship.
    if (kind === 'tokenizer' && folder.path !== path && className !== BYTE_TOKENIZER)
      checkTokenizerFiles(folder.path, await folder.names(), [SPIECE]);
  return found;
}

/** Throws unsupported where the names of a component's files show weights that cannot be read. */
export async function checkWeightNames({ components }: Pipeline, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const { folder, weights } = components[name]!;
    if (weights) continue; // found by their names
    chooseWeights(folder, await folder.names());
  }
}

/** Headers of components as their pages ask for them. */
export function configuredHeaders(
  { components }: Pipeline,
  pages: readonly PlannedPage[],
): Map<string, Weights> {
  const found = new Map<string, Weights>();
  for (const { component, tensors } of pages) {
    const weights = found.get(component) ?? {
      tensors: new Map(),
      sources: [],
      path: components[component]!.folder.path,
    };
    for (const [name, header] of tensors)
      weights.tensors.set(name, { ...(header as PlannedHeader), source: NOWHERE, offset: 0 });
    found.set(component, weights);
  }
  return found;
}
