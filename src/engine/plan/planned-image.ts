// Plans an image pipeline: the engine's own stages draw an image of the model's default size on devices that compute nothing.

import type { Prose } from '../../files/message.ts';
import type { Weights } from '../../files/checkpoint/shards.ts';
import type { Pipeline } from '../../files/pipeline/pipeline-index.ts';
import { bytesText } from '../../files/bytes-text.ts';
import { EngineError } from '../../files/error.ts';
import { plainRequest } from '../image/draw-request.ts';
import { drawTwice } from '../image/paper-drawing.ts';
import type { PackedCache } from '../platform/platform.ts';
import { rolesOf } from '../image/components/residency.ts';
import { ResidencySearch } from '../image/residency-search.ts';
import type { Resolved } from '../image/stages/resolved.ts';
import { openParts, type Parts } from '../image/parts.ts';
import { resolveRequest } from '../image/request/resolve.ts';
import type { Quantization } from '../opening/open-event.ts';
import type { PlannedQuantization } from './model-plan.ts';
import type { PlanPlace } from './plan-place.ts';
import { PLANNED_TOKENIZER } from './planned-components.ts';
import type { PlannedModel, PlannedOpening, PlannedSettings } from './planned-model.ts';
import { withinBudget } from './within-budget.ts';

const UNLIMITED = Number.MAX_SAFE_INTEGER;
/** Share by which a budget that is too small is raised, and the number of attempts. */
const STEP = 1 / 8;
const TRIALS = 8;

/** Layers may be in a file, which a plan does not read. */
const UNREAD_CACHE: PackedCache = {
  slot: () => Promise.reject(new Error('a plan reads no packed weights')),
};

export class PlannedImage implements PlannedModel {
  readonly #place: PlanPlace;
  readonly #pipeline: Pipeline;
  readonly #weights: ReadonlyMap<string, Weights>;
  readonly #model: string;
  readonly #least = new Map<PlannedQuantization, number>();
  #size = '';

  constructor(place: PlanPlace, pipeline: Pipeline, weights: ReadonlyMap<string, Weights>, model: string) {
    this.#place = place;
    this.#pipeline = pipeline;
    this.#weights = weights;
    this.#model = model;
  }

  /** Size of the image that was drawn, for example 512 × 512. */
  get size(): string {
    return this.#size;
  }

  /** Returns the quantization that the pipeline is opened with; null if `auto` finds none that fits. */
  choose(
    memoryBudget: number,
    asked: Quantization,
    onNote: (message: Prose) => void,
  ): Promise<PlannedQuantization | null> {
    return withinBudget(
      async () => (await this.#parts(memoryBudget, asked, onNote)).components.quantization,
      onNote,
    );
  }

  async open(memoryBudget: number, { quantization }: PlannedSettings): Promise<PlannedOpening> {
    const parts = await this.#parts(memoryBudget, quantization);
    const { device, components } = parts;
    const resolved = this.#request(parts);
    if (!components.isSmall) {
      const found = await this.#search(parts, quantization).within(memoryBudget, resolved);
      if (!found) throw await this.#refusal(parts, quantization);
      components.reside(found.residencies);
      device.prefetch = found.prefetch;
    }
    await drawTwice(parts, resolved, () => {});
    const { bytes, weights } = device.highestMemory;
    return { weights, scratch: bytes - weights, bytes, contextLength: null };
  }

  async least({ quantization }: PlannedSettings): Promise<number> {
    const known = this.#least.get(quantization);
    if (known !== undefined) return known;
    const parts = await this.#parts(UNLIMITED, quantization);
    const least = await this.#search(parts, quantization).least(this.#request(parts));
    this.#least.set(quantization, least);
    return least;
  }

  /** The forms of convolutions, and what stays on the device, depend on the budget, so that a larger one may be needed than the least. */
  async unlimited(settings: PlannedSettings): Promise<PlannedOpening> {
    let budget = await this.least(settings);
    for (let trial = 0; trial < TRIALS; trial++) {
      const opened = await withinBudget(() => this.open(Math.ceil(budget), settings));
      if (opened) return opened;
      budget *= 1 + STEP;
    }
    return this.open(UNLIMITED, settings);
  }

  #request({ context }: Parts): Resolved {
    const resolved = resolveRequest(plainRequest(context), context);
    const { width, height } = resolved.event.values;
    this.#size = `${width} × ${height}`;
    return resolved;
  }

  async #refusal({ device }: Parts, quantization: PlannedQuantization): Promise<EngineError> {
    const least = bytesText(await this.least({ quantization, contextLength: null }));
    return new EngineError(
      'out_of_memory',
      `an image of ${this.#size} pixels takes at least ${least}, the memory budget is ${bytesText(device.memoryBudget)}`,
    );
  }

  #search({ components, context }: Parts, quantization: PlannedQuantization): ResidencySearch {
    return new ResidencySearch({
      roles: rolesOf(components, context.pipeline.family),
      asked: new Map(),
      prefetch: 1,
      openPaper: (memoryBudget) => this.#parts(memoryBudget, quantization),
    });
  }

  #parts(
    memoryBudget: number,
    quantization: Quantization,
    onNote: (message: Prose) => void = () => {},
  ): Promise<Parts> {
    const device = this.#place.openDevice(memoryBudget);
    return openParts(
      device,
      { openFolder: this.#place.openFolder, packed: UNREAD_CACHE },
      this.#pipeline,
      { model: this.#model, quantization },
      (event) => {
        if (event.type === 'note') onNote(event.parts ? { parts: event.parts } : event.message);
      },
      { weights: this.#weights, tokenizer: () => Promise.resolve(PLANNED_TOKENIZER) },
    );
  }
}
