// An image pipeline on devices that compute nothing: the engine's own stages draw an image of the model's own size there.

import type { Prose } from '../../files/message.ts';
import type { Weights } from '../../files/checkpoint/shards.ts';
import type { Pipeline } from '../../files/pipeline/pipeline-index.ts';
import { drawOn, plainRequest } from '../image/draw-request.ts';
import type { Pixels } from '../image/image-model.ts';
import { openParts, type Parts } from '../image/parts.ts';
import { resolveRequest } from '../image/resolve.ts';
import type { Quantization } from '../session/open-event.ts';
import type { PlannedQuantization } from './model-plan.ts';
import type { PlanPlace } from './plan-place.ts';
import { PLANNED_TOKENIZER } from './planned-components.ts';
import { isOutOfMemory, type OpenedOnPaper, type PlannedModel, type Way } from './planned-model.ts';

/** Share by which a budget is lowered in the search of the least one, and how often. */
const STEP = 1 / 64;
const TRIALS = 16;

/** Nothing is given, kept or reported while an image is planned. */
const SILENT = { kernels: () => {}, note: () => {} };

export class PlannedImage implements PlannedModel {
  readonly #place: PlanPlace;
  readonly #pipeline: Pipeline;
  readonly #weights: ReadonlyMap<string, Weights>;
  readonly #model: string;
  readonly #unlimited = new Map<PlannedQuantization, OpenedOnPaper>();
  #size = '';

  constructor(place: PlanPlace, pipeline: Pipeline, weights: ReadonlyMap<string, Weights>, model: string) {
    this.#place = place;
    this.#pipeline = pipeline;
    this.#weights = weights;
    this.#model = model;
  }

  /** The size of the image that was drawn, as in 512 × 512. */
  get size(): string {
    return this.#size;
  }

  /** The quantization that the pipeline is opened with; null: `auto` finds none that has room. */
  async choose(
    memoryBudget: number,
    asked: Quantization,
    onNote: (message: Prose) => void,
  ): Promise<PlannedQuantization | null> {
    try {
      return (await this.#parts(memoryBudget, asked, onNote)).components.quantization;
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      onNote(error);
      return null;
    }
  }

  async open(memoryBudget: number, { quantization }: Way): Promise<OpenedOnPaper> {
    const parts = await this.#parts(memoryBudget, quantization);
    const { device, context } = parts;
    const platform = { coverImage: async (image: Pixels) => image, keepTuned: async () => {} };
    const resolved = resolveRequest(plainRequest(context), context);
    const { width, height } = resolved.event.values;
    this.#size = `${width} × ${height}`;
    await drawOn(parts, platform, resolved, () => {}, { report: SILENT });
    const { bytes, weights } = device.highestMemory;
    return { weights, scratch: bytes - weights, bytes, contextLength: null };
  }

  async least(way: Way): Promise<number> {
    return (await this.unlimited(way)).bytes;
  }

  /** Lowers the budget as long as the image is drawn: weights then leave between stages, and the decoder works in strips. */
  async unlimited(way: Way): Promise<OpenedOnPaper> {
    const known = this.#unlimited.get(way.quantization);
    if (known) return known;
    let least = await this.open(Number.MAX_SAFE_INTEGER, way);
    for (let trial = 0; trial < TRIALS; trial++) {
      try {
        least = await this.open(Math.floor(least.bytes * (1 - STEP)), way);
      } catch (error) {
        if (!isOutOfMemory(error)) throw error;
        break;
      }
    }
    this.#unlimited.set(way.quantization, least);
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
