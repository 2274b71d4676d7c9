// What the stages of one request need: the opened model, the plan, the resolved values and the listener; the size in which images are drawn; and
// the span of a stage.

import { attentionKernels } from '../../../kernels/attend-variant.ts';
import type { Autoencoder } from '../blocks/autoencoder.ts';
import { assertWanted, type ComputeOptions } from '../recording/compute.ts';
import type { Components } from '../components/components.ts';
import type { FamilyModel } from '../blocks/family.ts';
import type { Upscaler } from '../../../models/image/upscalers/upscaler.ts';
import type { StepReuseSettings } from '../step-cache/cache-settings.ts';
import type { PipelineAttention } from './attention.ts';
import type { GivenImages } from './given-images.ts';
import type { ImageEvent, StageName, Size } from '../calls/image-model.ts';
import type { ColourMap } from './latent-colours.ts';
import type { LatentShape } from './latent-shape.ts';
import type { Resolved } from './resolved.ts';
import type { WholeStepPlan } from './step-planner.ts';

export interface StageContext extends GivenImages {
  components: Components;
  runner: FamilyModel;
  latents: LatentShape;
  autoencoder: Autoencoder;
  /** The decoder of previews that the user gives; null, or left out: none. */
  previews?: Autoencoder | null;
  /** Map from latents to colours for previews. Without either, previews come from the decoder of results if it stays on the device. */
  colours?: ColourMap | null;
  /** Network that enlarges what is decoded, if the request asks for it; left out: there is none. */
  upscaler?: Upscaler | null;
  /** Frames of each result that are enlarged, of results that nobody looks at; left out: all. */
  mostEnlarged?: number;
  /** Whether another rank decodes what is drawn; left out: this one does. */
  decodesNothing?: boolean;
  plan: WholeStepPlan;
  /** Size to which decoded images are scaled and cut; left out: they have the size that is drawn. */
  cutTo?: Size;
  resolved: Resolved;
  signal: AbortSignal | undefined;
  options: ComputeOptions;
  /** How components attend; left out: as `auto`. */
  attention?: PipelineAttention;
  /** How steps reuse what others gave; left out: they do not. */
  reuse?: StepReuseSettings;
  /** Collects the names of the shaders that a stage runs; left out: nobody asks. */
  shaders?: Set<string>;
  emit(event: ImageEvent): void;
  onStage?(name: StageName): void;
  /** Called as soon as all results are drawn, or with the error that ends this request alone. */
  ended?(error: unknown): void;
}

/** The request with the size that is drawn in place of the one that is asked for. */
export function asDrawn(resolved: Resolved, { drawnSize }: Pick<FamilyModel, 'drawnSize'>): Resolved {
  const { event, call } = resolved;
  const { width, height } = event.values;
  const drawn = call.binning === 0 ? undefined : drawnSize?.({ width, height });
  if (!drawn || (drawn.width === width && drawn.height === height)) return resolved;
  return { ...resolved, event: { ...event, values: { ...event.values, ...drawn } } };
}

/** The context with the size that is drawn, whose images are scaled and cut as they are decoded. */
export function contextAsDrawn(context: StageContext): StageContext {
  const resolved = asDrawn(context.resolved, context.runner);
  if (resolved === context.resolved) return context;
  const { width, height } = context.resolved.event.values;
  return { ...context, resolved, cutTo: { width, height } };
}

/**
 * A stage, declared by `using`: it starts at its declaration, and when its block ends, its event reports the time and the peak of device memory.
 * Resources declared after it leave the device before it ends.
 */
export class Stage implements Disposable {
  readonly #context: StageContext;
  readonly #name: StageName;
  readonly #startedAt: number;

  /** Throws cancelled if the request was aborted. */
  constructor(context: StageContext, name: StageName) {
    assertWanted(context.signal);
    this.#context = context;
    this.#name = name;
    context.onStage?.(name);
    this.#startedAt = this.#now();
    context.components.device.takePeak();
    context.shaders?.clear();
  }

  /** Current time in milliseconds without the time spent on profiling. */
  #now(): number {
    return performance.now() - (this.#context.options.profiler?.spent ?? 0);
  }

  [Symbol.dispose](): void {
    const { components, emit, shaders = [] } = this.#context;
    const { device } = components;
    const milliseconds = this.#now() - this.#startedAt;
    const attention = attentionKernels(new Set(shaders));
    emit({ type: 'stage', name: this.#name, milliseconds, peakBytes: device.takePeak(), attention });
    device.arena.clear();
  }
}
