// The second hub: ModelScope's HTTP API. Its listing has a sha256 for every file but no reliable commit, so the snapshot is named
// by its contents.
import { createHash } from 'node:crypto';
import { networkError } from '../error.ts';
import { getJson, type Session } from './hub-http.ts';
import {
  accessError,
  checkListing,
  revisionError,
  type HubSource,
  type Listing,
  type RepoFile,
} from './hub-source.ts';

export function modelHub(
  from: Pick<HubSource, 'endpoint' | 'token' | 'offline' | 'unreachableRemedy'>,
): HubSource {
  const source: HubSource = {
    ...from,
    name: new URL(from.endpoint).host,
    tokenVariable: 'MODELSCOPE_API_TOKEN',
    endpointVariable: 'MODELSCOPE_ENDPOINT',
    inPage: false,
    defaultRevision: 'master',
    // Older paths of the API read the cookie, newer ones the header.
    credentials: from.token
      ? { authorization: `Bearer ${from.token}`, cookie: `m_session_id=${from.token}` }
      : {},
    list: (session, id, revision) => list(source, session, id, revision),
    describe: (_session, id, _commit, file) => {
      const { size, blob } = file;
      if (size === null || blob === null) {
        throw networkError(
          `${source.name} gives no size and sha256 for ${file.path} of ${id}; check MODELSCOPE_ENDPOINT`,
        );
      }
      return Promise.resolve({ ...file, size, blob });
    },
    fileUrl: (id, revision, _commit, path) =>
      `${source.endpoint}/api/v1/models/${id}/repo?${new URLSearchParams({ Revision: revision, FilePath: path }).toString()}`,
  };
  return source;
}

interface Answer {
  Success?: boolean;
  Message?: string;
  Data?: { Files?: { Path: string; Type: string; Size?: number; Sha256?: string }[] | null };
}

async function list(source: HubSource, session: Session, id: string, revision: string): Promise<Listing> {
  const query = new URLSearchParams({ Revision: revision, Recursive: 'true' }).toString();
  const { status, body } = await getJson(
    session,
    `${source.endpoint}/api/v1/models/${id}/repo/files?${query}`,
  );
  const answer = (body ?? {}) as Answer;
  if (status === 401 || status === 403) throw accessError(source, id, status, false);
  if (status === 404 || (status === 200 && answer.Success === false)) {
    // A missing branch and a missing model get the same status; only the message differs.
    if (/revision|branch|tag/i.test(answer.Message ?? '')) throw revisionError(source, id, revision);
    throw accessError(source, id, 404, false);
  }
  if (status !== 200 || !Array.isArray(answer.Data?.Files)) {
    throw networkError(
      `${source.name} answered ${status} without a file list for ${id}; check MODELSCOPE_ENDPOINT (${source.endpoint})`,
    );
  }
  const files = answer.Data.Files.filter((file) => file.Type !== 'tree').map((file): RepoFile => {
    const sha256 = file.Sha256?.toLowerCase();
    const known = sha256 !== undefined && /^[0-9a-f]{64}$/.test(sha256);
    return {
      path: file.Path,
      size: file.Size ?? null,
      blob: known ? sha256 : null,
      digest: known ? { kind: 'sha256', value: sha256 } : null,
    };
  });
  const content = files
    .map(({ path, blob }) => `${path} ${blob}\n`)
    .sort()
    .join('');
  return checkListing(id, {
    commit: createHash('sha1').update(content).digest('hex'),
    files,
    baseModel: null,
  });
}
