// /v1/videos: jobs that draw clips, as OpenAI's and SGLang's clients ask for them. A request is answered once its values are settled, and is
// drawn in its turn, whether or not its client stays.

import type { H3Event } from 'h3';
import { type ImageModel, MODEL_KINDS } from '../../index.ts';
import { countText } from '../../files/count-text.ts';
import { upscaledSize } from '../../options/upscaled-size.ts';
import { RequestError } from '../http/errors.ts';
import { isOwn, visibleSlots } from '../service/caller.ts';
import { listReply, pageOf, pageQuery } from '../http/paging.ts';
import { QueuedImages } from '../images/image-drawing.ts';
import { checkUpscaler } from '../images/image-request.ts';
import { qualityIn } from '../images/image-schema.ts';
import { CLIP_ENDPOINT, preferring, takesFrames } from '../service/default-model.ts';
import { listIgnored, whileClientWaits } from '../service/model-call.ts';
import type { RouteTable } from '../service/route.ts';
import { requireRunning, type Service } from '../service/service.ts';
import { holdModel, useModel } from '../service/use-model.ts';
import { readVideoBody } from './video-body.ts';
import { checkEncoding, TYPES } from './video-file.ts';
import { VIDEO_PAGES, variantOf } from './video-query.ts';
import { startRecord, videoReply } from './video-reply.ts';
import type { VideoRecord } from './video-reply-schema.ts';
import { checkVideos, readReference, toVideoRequests, underVideoName } from './video-request.ts';
import { runVideo } from './video-run.ts';
import { checkVideo, DEFAULT_QUALITY, VIDEO_FIELDS, type VideoBody } from './video-schema.ts';
import { type Video, videoStoreOf } from './video-store.ts';

const COMMON = { group: 'Videos', schemas: [() => import('./video-reply-schema.ts')] } as const;

export const VIDEO_ROUTES: RouteTable = {
  '/v1/videos': {
    POST: {
      handle: createVideo,
      summary: 'Starts to draw a video from a prompt, or from an image and a prompt; as JSON or as a form.',
      ...COMMON,
      fields: VIDEO_FIELDS,
      form: VIDEO_FIELDS,
      required: ['prompt'],
      reply: 'Video',
    },
    GET: {
      handle: listVideos,
      summary: 'Videos that were asked for, a page of them.',
      ...COMMON,
      query: pageQuery(VIDEO_PAGES),
      reply: 'VideoList',
    },
  },
  '/v1/videos/:id': {
    GET: {
      handle: (service, event) => shown(service, event, videoAt(service, event)),
      summary: 'A video: its status, its progress, its place in the queue.',
      ...COMMON,
      reply: 'Video',
    },
    DELETE: {
      handle: deleteVideo,
      summary: 'Deletes a video and its files; one that is being drawn is cancelled.',
      ...COMMON,
      reply: 'DeletedVideo',
    },
  },
  '/v1/videos/:id/content': {
    GET: {
      handle: videoContent,
      summary: 'The file of a video that is complete.',
      ...COMMON,
      query: { variant: 'video, or the index of one of several; left out, the first.' },
      gives: '(video|image)/*',
    },
  },
  '/v1/videos/:id/cancel': {
    POST: {
      handle: cancelVideo,
      summary: 'Cancels a video that waits or is being drawn.',
      ...COMMON,
      reply: 'Video',
    },
  },
};

async function createVideo(service: Service, event: H3Event) {
  requireRunning(service);
  const { body, ignored } = checkVideo(await readVideoBody(event.req), service.options.strict);
  const model = await findVideoModel(service, event, body.model ?? 'default');
  listIgnored(event, ignored);
  checkUpscaler(body, model.info);
  const store = videoStoreOf(service);
  const abort = new AbortController();
  const endUse = holdModel(service, model);
  const reference = await whileClientWaits(service, event, 'the image had arrived', (signal) =>
    readReference(service, body, signal),
  ).catch((error: unknown) => {
    endUse();
    throw error;
  });
  const release = (): void => {
    reference?.release();
    endUse();
  };
  try {
    const asked = {
      requests: toVideoRequests(body, model.info),
      decode: reference && (() => reference.decode()),
      check: checkVideos,
    };
    const queued = new QueuedImages(service, model, asked, abort.signal);
    const settled = await whileClientWaits(service, event, 'its values were settled', (signal) =>
      queued.settle(signal),
    );
    const record = startRecord(body, settled.values);
    const { output_format: format, fps } = record;
    const encoding = { format, fps, ...(format !== 'gif' && { quality: qualityIn(body, DEFAULT_QUALITY) }) };
    const video: Video = { record, running: { abort, turn: queued.turn } };
    const added = checkEncoding(upscaledSize(settled.values), encoding).then(() => store.add(video));
    await added.catch((error: unknown) => {
      queued.turn.end();
      throw error;
    });
    describeCall(event, record);
    service.running.add(abort);
    // The server waits for a video at its end as it waits for a reply.
    service.replies += 1;
    const run = { settled, encoding, signal: abort.signal };
    void runVideo(service, store, video, run).finally(() => {
      service.replies -= 1;
      service.running.delete(abort);
      release();
    });
    return shown(service, event, video);
  } catch (error) {
    release();
    throw underVideoName(error, body);
  }
}

/** The model that a request names; `default` is the first that can draw clips. Throws RequestError. */
async function findVideoModel(
  service: Service,
  event: H3Event,
  requested: VideoBody['model'] & string,
): Promise<ImageModel> {
  const { model } = await useModel({ service, event }, MODEL_KINDS.image, requested, {
    endpoints: { [MODEL_KINDS.image.name]: CLIP_ENDPOINT },
    candidates: preferring(takesFrames),
  });
  if (model.info.frameMultiple !== null) return model;
  const other = visibleSlots(service).find(takesFrames);
  const remedy = other ? `, or ask ${other.names[0]}` : '';
  throw new RequestError(
    'unsupported',
    `${model.info.name} draws images, not videos; send it to ${MODEL_KINDS.image.endpoint}${remedy}`,
    { param: 'model' },
  );
}

const shown = (service: Service, { url }: H3Event, video: Video) =>
  videoReply(videoStoreOf(service), video, url.origin);

function videoAt(service: Service, { url }: H3Event): Video {
  const id = url.pathname.split('/')[3] ?? '';
  const video = videoStoreOf(service).find(id);
  if (video && isOwn(video.record.owner)) return video;
  const isKept = service.options.outputPath !== undefined;
  const kept = isKept ? '' : '; videos are kept in memory for an hour, and less where they are many';
  throw new RequestError('not_found', `there is no video ${id} here, or no longer${kept}`);
}

function listVideos(service: Service, event: H3Event) {
  const { page, hasMore } = pageOf(
    videoStoreOf(service)
      .all()
      .filter(({ record }) => isOwn(record.owner)),
    ({ record }) => record.id,
    event.url.searchParams,
    VIDEO_PAGES,
  );
  return listReply(
    page.map((video) => shown(service, event, video)),
    hasMore,
  );
}

async function deleteVideo(service: Service, event: H3Event) {
  const video = videoAt(service, event);
  await videoStoreOf(service).delete(video);
  return { id: video.record.id, object: 'video.deleted', deleted: true, status: 'deleted' };
}

function cancelVideo(service: Service, event: H3Event) {
  const video = videoAt(service, event);
  const { record, running } = video;
  if (!running)
    throw new RequestError('invalid_value', `the video ${record.id} has ended: it is ${record.status}`);
  record.status = 'cancelling';
  running.abort.abort();
  return shown(service, event, video);
}

async function videoContent(service: Service, event: H3Event): Promise<Response> {
  const video = videoAt(service, event);
  const { record } = video;
  const at = variantOf(video, event.url.searchParams);
  const content = await videoStoreOf(service).files.readFile(record, at);
  if (!content)
    throw new RequestError('not_found', `the file of the video ${record.id} is not there any more`);
  return new Response(content as BodyInit, {
    headers: {
      'content-type': TYPES[record.output_format],
      'content-length': String(record.bytes[at]),
      'cache-control': 'private, max-age=3600',
    },
  });
}

function describeCall({ context: { call } }: H3Event, { id, num_frames, size }: VideoRecord): void {
  if (call) call.detail = () => `${id} of ${countText(num_frames, 'frame')} of ${size}`;
}
