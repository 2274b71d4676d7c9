// The images of a clip's first and last frame: which of them a model takes, and whether a request gives them.

import { badRequest } from '../../../files/error.ts';
import { field, say, type Prose } from '../../../files/message.ts';
import type { CompleteImageRequest, ResolvedImageRequest } from '../calls/image-model.ts';
import type { ResolveContext } from '../stages/resolved.ts';

/** Throws bad_request for images of frames that a model of clips does not take, and for those that it needs and a request leaves out. */
export function checkFrameImages(
  { image, lastImage }: CompleteImageRequest,
  { frames }: ResolvedImageRequest,
  { frameImages, framesPerLatent, decodesOnly, pipeline: { set } }: ResolveContext,
): void {
  const refuse = (param: string, message: Prose): never => {
    throw badRequest(message, param);
  };
  if (framesPerLatent === null) return;
  const given = image ? 'image' : lastImage ? 'lastImage' : null;
  if (decodesOnly && given)
    refuse(
      given,
      say`the autoencoder of this model was replaced by one that decodes only: leave ${field(given)} out`,
    );
  if (frameImages === null) {
    const isTaken = frames === 1 && !set.references; // as any image that is drawn from
    if (image && !isTaken)
      refuse('image', say`this model draws clips from a text alone: leave ${field('image')} out`);
    if (lastImage)
      refuse('lastImage', say`this model draws clips from a text alone: leave ${field('lastImage')} out`);
    return;
  }
  const { first, last } = frameImages;
  if (first === 'must' && !image)
    refuse('image', say`this model draws clips from the image of their first frame: give ${field('image')}`);
  if (lastImage && last === 'never')
    refuse(
      'lastImage',
      say`this model draws clips from the image of their first frame alone: leave ${field('lastImage')} out`,
    );
  if (last === 'must' && !lastImage)
    refuse(
      'lastImage',
      say`this model draws clips from the images of their first and last frame: give ${field('lastImage')} too`,
    );
  if (lastImage && frames === 1)
    refuse(
      'frames',
      say`frames is 1, and images of two frames are given: leave ${field('lastImage')} out, or draw more frames`,
    );
}
