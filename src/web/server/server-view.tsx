// The view of the server: its problems, models, requests and memory, asked for while the view can be seen.

import { modelsProblem, refreshModels } from '../api/models.ts';
import { serverInfo, serverProblem } from '../api/server-info.ts';
import { ConfirmDialog } from '../parts/confirm-dialog.tsx';
import { usePolling } from '../parts/polling.ts';
import { Activity, Memory } from './activity.tsx';
import { ModelList } from './model-list.tsx';
import { rows } from './model-rows.ts';
import { takeSample } from './rates.ts';
import '../style/server.css';

/** Milliseconds between two looks at the server. */
const INTERVAL = 2000;

/** One after the other, so that the count of open replies has one that is ours. */
async function look(): Promise<void> {
  await refreshModels();
  await takeSample();
}

export function ServerView() {
  usePolling(look, INTERVAL);
  return (
    <div class="server">
      <Problems />
      <ModelList />
      <Activity />
      <Memory />
      <ConfirmDialog />
    </div>
  );
}

function Problems() {
  const failed = rows.value.filter(({ state }) => state === 'failed');
  const general = [...new Set([serverProblem.value, modelsProblem.value])].filter(Boolean);
  const isStopping = serverInfo.value?.status === 'stopping';
  if (failed.length === 0 && general.length === 0 && !isStopping) return null;
  return (
    <section aria-labelledby="problems-title">
      <h2 id="problems-title">Problems</h2>
      <ul role="alert" class="problem">
        {general.map((text) => (
          <li key={text}>{text}</li>
        ))}
        {isStopping && <li>The server is stopping; it takes no new requests.</li>}
        {failed.map(({ id, problem }) => (
          <li key={id}>
            {id} did not open: {problem || "the server's log has the reason"}
          </li>
        ))}
      </ul>
    </section>
  );
}
