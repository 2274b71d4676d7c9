// Everything that the stages of one request need: the opened model, the plan, the resolved values and the listener.

import type { Autoencoder } from '../blocks/autoencoder.ts';
import type { ComputeOptions } from '../recording/compute.ts';
import type { Components } from '../components/components.ts';
import type { FamilyModel } from '../blocks/family.ts';
import type { GivenImages } from './given-images.ts';
import type { ImageEvent, StageName } from '../calls/image-model.ts';
import type { ColourMap } from './latent-colours.ts';
import type { LatentShape } from './latent-shape.ts';
import type { Resolved } from './resolved.ts';
import type { WholePlan } from './step-planner.ts';

export interface Drawing extends GivenImages {
  components: Components;
  runner: FamilyModel;
  latents: LatentShape;
  autoencoder: Autoencoder;
  /** Map from latents to colours for previews. Without one, previews come from the decoder if it stays on the device. */
  colours?: ColourMap | null;
  plan: WholePlan;
  /** Size to which decoded images are scaled and cut; left out: they have the size that is drawn. */
  cutTo?: { width: number; height: number };
  resolved: Resolved;
  signal: AbortSignal | undefined;
  options: ComputeOptions;
  emit(event: ImageEvent): void;
  onStage?(name: StageName): void;
}
