// The Hugging Face HTTP API, also as its mirrors speak it: one listing, then plain files.
import { badRequest, networkError } from '../error.ts';
import { getJson, open, watched, withRetries, type Session } from './hub-http.ts';
import {
  accessError,
  checkListing,
  revisionError,
  type HubSource,
  type KnownFile,
  type Listing,
  type RepoFile,
} from './hub-source.ts';

export const HUGGING_FACE = 'https://huggingface.co';

/** The address of a hub, without a slash at its end. `name`: the setting, for the error. Throws bad_request. */
export function endpointOf(name: string, value: string | undefined, standard: string): string {
  const address = value?.trim() || standard;
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
    throw badRequest(`${name} is '${address}', which is not an http or https address; correct or unset it`);
  }
  return address.replace(/\/+$/, '');
}

type HubSettings = Pick<
  HubSource,
  'endpoint' | 'token' | 'tokenVariable' | 'endpointVariable' | 'offline' | 'unreachableRemedy' | 'inPage'
>;

export function huggingFace(from: HubSettings): HubSource {
  const source: HubSource = {
    ...from,
    name: new URL(from.endpoint).host,
    defaultRevision: 'main',
    credentials: from.token ? { authorization: `Bearer ${from.token}` } : {},
    list: (session, id, revision) => list(source, session, id, revision),
    describe: (session, id, commit, file) => describe(source, session, id, commit, file),
    fileUrl: (id, _revision, commit, path) =>
      `${source.endpoint}/${id}/resolve/${commit}/${encodePath(path)}`,
  };
  return source;
}

const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

interface ModelInfo {
  sha?: string;
  siblings?: {
    rfilename: string;
    size?: number;
    blobId?: string;
    lfs?: { sha256?: string; size?: number } | null;
  }[];
  cardData?: { base_model?: string | string[] };
}

async function list(source: HubSource, session: Session, id: string, revision: string): Promise<Listing> {
  const url = `${source.endpoint}/api/models/${id}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const { status, headers, body } = await getJson(session, url);
  if (status === 401 || status === 403 || status === 404) {
    const code = headers.get('x-error-code');
    if (code === 'RevisionNotFound') throw revisionError(source, id, revision);
    throw accessError(source, id, status, code === 'GatedRepo');
  }
  const info = (body ?? {}) as ModelInfo;
  if (status !== 200 || typeof info.sha !== 'string' || !Array.isArray(info.siblings)) {
    throw networkError(
      `${source.name} answered ${status} without a file list for ${id}; check ${source.endpointVariable} (${source.endpoint})`,
    );
  }
  const files = info.siblings.map(({ rfilename, size, blobId, lfs }): RepoFile => {
    if (lfs?.sha256) {
      return {
        path: rfilename,
        size: lfs.size ?? size ?? null,
        blob: lfs.sha256,
        digest: { kind: 'sha256', value: lfs.sha256 },
      };
    }
    return { path: rfilename, size: size ?? null, blob: blobId ?? null, digest: digestOf(blobId ?? '') };
  });
  const base = info.cardData?.base_model;
  return checkListing(id, {
    commit: info.sha,
    files,
    baseModel: (Array.isArray(base) ? base[0] : base) ?? null,
  });
}

/** Returns the digest that an etag contains, recognised by its form. */
function digestOf(etag: string): RepoFile['digest'] {
  if (/^[0-9a-f]{64}$/.test(etag)) return { kind: 'sha256', value: etag };
  if (/^[0-9a-f]{40}$/.test(etag)) return { kind: 'git', value: etag };
  return null;
}

/** Mirrors may list names only; then size and etag are read from the file's own headers. */
async function describe(
  source: HubSource,
  session: Session,
  id: string,
  commit: string,
  file: RepoFile,
): Promise<KnownFile> {
  const { size, blob } = file;
  if (size !== null && blob !== null) return { ...file, size, blob };
  const url = source.fileUrl(id, commit, commit, file.path);
  const { headers, redirected } = await withRetries(session, file.path, () =>
    watched(session, async (watch) => {
      // Large files redirect to a store whose etag is not a digest of the content; the hub's own response has the digest.
      const keepRedirect = (response: Response): boolean => response.headers.has('x-linked-etag');
      const { response } = await open(session, url, watch, { method: 'HEAD', keepRedirect });
      if (response.status === 401 || response.status === 403) {
        throw accessError(source, id, response.status, response.headers.get('x-error-code') === 'GatedRepo');
      }
      return response;
    }),
  );
  const etag = (headers.get('x-linked-etag') ?? headers.get('etag') ?? '')
    .replace(/^W\//, '')
    .replaceAll('"', '');
  const length = headers.get('x-linked-size') ?? headers.get('content-length');
  if (!/^[\w.-]+$/.test(etag) || length === null || !/^\d+$/.test(length)) {
    throw networkError(
      `${source.name} gives no size and etag for ${file.path} of ${id}; check ${source.endpointVariable} (${source.endpoint})`,
    );
  }
  return { path: file.path, size: Number(length), blob: etag, digest: redirected ? null : digestOf(etag) };
}
