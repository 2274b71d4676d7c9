// The view of the server: its models.

import { useEffect } from 'preact/hooks';
import { models, modelsProblem, refreshModels } from '../api/models.ts';

export function ServerView() {
  useEffect(() => void refreshModels(), []);
  return (
    <section aria-label="Server">
      <h2>Models</h2>
      {modelsProblem.value && <p class="problem">{modelsProblem.value}</p>}
      <ul>
        {models.value?.map(({ id }) => (
          <li key={id}>{id}</li>
        ))}
      </ul>
    </section>
  );
}
