// What the stages of one request need: the opened model, the plan, the resolved values and the listener; the size in which images are drawn; and
// the span of a stage.

import { EngineError } from '../../../files/error.ts';
import type { Autoencoder } from '../blocks/autoencoder.ts';
import type { ComputeOptions } from '../recording/compute.ts';
import type { Components } from '../components/components.ts';
import type { FamilyModel } from '../blocks/family.ts';
import type { GivenImages } from './given-images.ts';
import type { ImageEvent, StageName } from '../calls/image-model.ts';
import type { ColourMap } from './latent-colours.ts';
import type { LatentShape } from './latent-shape.ts';
import type { Resolved } from './resolved.ts';
import type { WholeStepPlan } from './step-planner.ts';

export interface Drawing extends GivenImages {
  components: Components;
  runner: FamilyModel;
  latents: LatentShape;
  autoencoder: Autoencoder;
  /** Map from latents to colours for previews. Without one, previews come from the decoder if it stays on the device. */
  colours?: ColourMap | null;
  plan: WholeStepPlan;
  /** Size to which decoded images are scaled and cut; left out: they have the size that is drawn. */
  cutTo?: { width: number; height: number };
  resolved: Resolved;
  signal: AbortSignal | undefined;
  options: ComputeOptions;
  emit(event: ImageEvent): void;
  onStage?(name: StageName): void;
}

/** The request with the size that is drawn in place of the one that is asked for. */
export function asDrawn(resolved: Resolved, { drawnSize }: Pick<FamilyModel, 'drawnSize'>): Resolved {
  const { event, call } = resolved;
  const { width, height } = event.values;
  const drawn = call.binning === 0 ? undefined : drawnSize?.({ width, height });
  if (!drawn || (drawn.width === width && drawn.height === height)) return resolved;
  return { ...resolved, event: { ...event, values: { ...event.values, ...drawn } } };
}

/** The drawing in the size that is drawn, whose images are scaled and cut as they are decoded. */
export function drawingAsDrawn(drawing: Drawing): Drawing {
  const resolved = asDrawn(drawing.resolved, drawing.runner);
  if (resolved === drawing.resolved) return drawing;
  const { width, height } = drawing.resolved.event.values;
  return { ...drawing, resolved, cutTo: { width, height } };
}

/**
 * A stage, declared by `using`: it starts at its declaration, and when its block ends, its event reports the time and the peak of device memory.
 * Resources declared after it leave the device before it ends.
 */
export class Stage implements Disposable {
  readonly #drawing: Drawing;
  readonly #name: StageName;
  readonly #startedAt: number;

  /** Throws cancelled if the request was aborted. */
  constructor(drawing: Drawing, name: StageName) {
    assertWanted(drawing.signal);
    this.#drawing = drawing;
    this.#name = name;
    drawing.onStage?.(name);
    this.#startedAt = this.#now();
    drawing.components.device.takePeak();
  }

  /** Current time in milliseconds without the time spent on profiling. */
  #now(): number {
    return performance.now() - (this.#drawing.options.profiler?.spent ?? 0);
  }

  [Symbol.dispose](): void {
    const { components, emit } = this.#drawing;
    const { device } = components;
    const milliseconds = this.#now() - this.#startedAt;
    emit({ type: 'stage', name: this.#name, milliseconds, peakBytes: device.takePeak() });
    device.arena.clear();
  }
}

export function assertWanted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new EngineError('cancelled', 'the request was cancelled');
}
