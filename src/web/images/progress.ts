// How far a request has come, as its events tell.

export interface Progress {
  phase: 'sending' | 'waiting' | 'drawing';
  /** From 0 to 1, over all images. */
  share: number;
  /** For example "Image 1, step 3 of 20". */
  text: string;
  /** Last preview of each image, as a data: URL. */
  previews: readonly string[];
}

export const BEFORE: Progress = { phase: 'sending', share: 0, text: 'Sending', previews: [] };

/** What a comment of a stream of images tells; `images`: how many were asked for. */
export function afterComment(progress: Progress, comment: string, images: number): Progress {
  const [, ahead] = /^waiting for (\d+) before$/.exec(comment) ?? [];
  if (ahead !== undefined) return { ...progress, ...waitingFor(Number(ahead)) };
  const [, opening] = /^opening the model, (.*)$/.exec(comment) ?? [];
  if (opening !== undefined) return { ...progress, phase: 'waiting', text: `Opening the model, ${opening}` };
  if (comment === 'drawing') return { ...progress, phase: 'drawing', text: 'Drawing' };
  const [, image, step, steps] = /^image (\d+), step (\d+) of (\d+)$/.exec(comment) ?? [];
  if (image === undefined) return progress;
  const share = (Number(image) - 1 + Number(step) / Number(steps)) / images;
  return { ...progress, phase: 'drawing', share, text: `Image ${image}, step ${step} of ${steps}` };
}

/** `ahead`: requests before it in the queue. */
export function waitingFor(ahead: number): Pick<Progress, 'phase' | 'text'> {
  return { phase: 'waiting', text: ahead === 1 ? 'Waiting for 1 request' : `Waiting for ${ahead} requests` };
}
