// How replicas of an image model share requests: each draws some of the results of a request, which have the seeds that one model would give
// them. The results are those of one model to the bit, because none depends on those that are drawn beside it.

import type {
  ImageEvent,
  ImageModel,
  ImageModelOptions,
  ImageRequest,
} from '../../engine/image/calls/image-model.ts';
import type { ReplicaRule, RequestPart } from '../session/replicas.ts';

/** Events of which a request has one, or which say the same in each part. */
const ONCE: ReadonlySet<ImageEvent['type']> = new Set(['resolved', 'tokens', 'unknown-words', 'note']);

export const IMAGE_REPLICAS: ReplicaRule<ImageModelOptions, ImageModel> = {
  placesOf: ({ dpSize = 1 }) => Array.from({ length: dpSize }, (_, replica) => ({ replica })),
  share: (models) => ({
    info: models[0]!.info,
    calls: {
      warmUp: (...given: Parameters<ImageModel['warmUp']>) =>
        Promise.all(models.map((model) => model.warmUp(...given))),
    },
    divide: (request: ImageRequest) => divide(models, request),
  }),
};

async function divide(models: readonly ImageModel[], given: ImageRequest): Promise<RequestPart[]> {
  const resolved = await models[0]!.resolve(given);
  const { samples } = resolved.values;
  const parts = Math.min(models.length, samples);
  const seed = given.seed ?? Math.floor(Math.random() * 2 ** 32);
  const firstOf = (part: number): number => Math.floor((part * samples) / parts);
  const ends = new Set<number>();
  const begun = performance.now();
  return Array.from({ length: parts }, (_, part): RequestPart => {
    const first = firstOf(part);
    const request = {
      ...given,
      seed: seed + first,
      ...(parts > 1 && of(given, firstOf(part + 1) - first)),
    };
    return {
      request,
      pass(event: ImageEvent, replica) {
        if (event.type === 'resolved' && part === 0) return resolved;
        if (event.type === 'done') {
          ends.add(part);
          return ends.size === parts ? { ...event, milliseconds: performance.now() - begun } : null;
        }
        if (ONCE.has(event.type) && part > 0) return null;
        const numbered = 'sample' in event ? { ...event, sample: first + event.sample } : event;
        return numbered.type === 'image' ? { ...numbered, replica } : numbered;
      },
    };
  });
}

/** The number of results of a part, wherever the request states that of all. */
function of({ kwargs }: ImageRequest, samples: number): Partial<ImageRequest> {
  if (!kwargs) return { samples };
  const { num_images_per_prompt: _, ...others } = kwargs;
  return { samples, kwargs: others };
}
