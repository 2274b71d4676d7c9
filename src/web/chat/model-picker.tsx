// The models that a conversation asks: one, or several side by side.

import { models as listed, modelsProblem, textModels } from '../api/models.ts';
import { current } from './state.ts';
import { change, draft, modelsOf } from './talk.ts';

const MOST_MODELS = 4;

export function ModelPicker() {
  const chosen = modelsOf((current.value ?? draft.value).models);
  const known = textModels.value.map(({ id }) => id);
  const free = known.filter((id) => !chosen.includes(id));
  if (modelsProblem.value) return <p class="problem">{modelsProblem.value}</p>;
  if (listed.value !== null && known.length === 0)
    return (
      <p class="problem">
        This server has no chat model; start it with one, or load one in the view of the server.
      </p>
    );
  const replace = (at: number, id: string) =>
    change({ models: chosen.map((one, i) => (i === at ? id : one)) });
  return (
    <div class="models" role="group" aria-label="Models">
      {chosen.map((id, at) => (
        <span key={id}>
          <select
            aria-label={chosen.length > 1 ? `Model ${at + 1}` : 'Model'}
            value={id}
            onChange={({ currentTarget }) => replace(at, currentTarget.value)}
          >
            {[id, ...free].map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
          {chosen.length > 1 && (
            <button
              type="button"
              aria-label={`Do not ask ${id}`}
              onClick={() => change({ models: chosen.filter((one) => one !== id) })}
            >
              ×
            </button>
          )}
        </span>
      ))}
      {free.length > 0 && chosen.length < MOST_MODELS && (
        <button type="button" onClick={() => change({ models: [...chosen, free[0]!] })}>
          Compare
        </button>
      )}
    </div>
  );
}
