// Plans an image pipeline: the engine's own stages draw an image of the model's default size on devices that compute nothing.

import type { Prose } from '../../files/message.ts';
import type { Weights } from '../../files/checkpoint/shards.ts';
import type { Pipeline } from '../../files/pipeline/pipeline-index.ts';
import { drawOn, plainRequest } from '../image/draw-request.ts';
import { openParts, type Parts } from '../image/parts.ts';
import { resolveRequest } from '../image/resolve.ts';
import type { Quantization } from '../session/open-event.ts';
import type { PlannedQuantization } from './model-plan.ts';
import type { PlanPlace } from './plan-place.ts';
import { PLANNED_TOKENIZER } from './planned-components.ts';
import type { PlannedModel, PlannedOpening, PlannedSettings } from './planned-model.ts';
import { withinBudget } from './within-budget.ts';

/** Share by which the search for the least budget lowers it, and the number of attempts. */
const STEP = 1 / 64;
const TRIALS = 16;

/** Receives the events of drawing, which a plan does not report. */
const SILENT = { kernels: () => {}, note: () => {} };

export class PlannedImage implements PlannedModel {
  readonly #place: PlanPlace;
  readonly #pipeline: Pipeline;
  readonly #weights: ReadonlyMap<string, Weights>;
  readonly #model: string;
  readonly #unlimited = new Map<PlannedQuantization, PlannedOpening>();
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
    const { device, context } = parts;
    const platform = { keepTuned: async () => {} };
    const resolved = resolveRequest(plainRequest(context), context);
    const { width, height } = resolved.event.values;
    this.#size = `${width} × ${height}`;
    await drawOn(parts, platform, resolved, () => {}, { report: SILENT });
    const { bytes, weights } = device.highestMemory;
    return { weights, scratch: bytes - weights, bytes, contextLength: null };
  }

  async least(settings: PlannedSettings): Promise<number> {
    return (await this.unlimited(settings)).bytes;
  }

  /** Lowers the budget as long as drawing succeeds: with less memory, weights are freed between stages and the decoder works in strips. */
  async unlimited(settings: PlannedSettings): Promise<PlannedOpening> {
    const known = this.#unlimited.get(settings.quantization);
    if (known) return known;
    let least = await this.open(Number.MAX_SAFE_INTEGER, settings);
    for (let trial = 0; trial < TRIALS; trial++) {
      const { bytes } = least;
      const lower = await withinBudget(() => this.open(Math.floor(bytes * (1 - STEP)), settings));
      if (lower === null) break;
      least = lower;
    }
    this.#unlimited.set(settings.quantization, least);
    return least;
  }

  #parts(
    memoryBudget: number,
    quantization: Quantization,
    onNote: (message: Prose) => void = () => {},
  ): Promise<Parts> {
    const device = this.#place.openDevice(memoryBudget);
    return openParts(
      device,
      this.#place,
      this.#pipeline,
      { model: this.#model, quantization },
      (event) => {
        if (event.type === 'note') onNote(event.parts ? { parts: event.parts } : event.message);
      },
      { weights: this.#weights, tokenizer: PLANNED_TOKENIZER },
    );
  }
}
