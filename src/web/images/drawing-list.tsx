// Requests that are being drawn: progress, previews, and a button that ends each.

import { type RunningDrawing, drawings, stop } from './drawings.ts';

export function DrawingList() {
  if (drawings.value.length === 0) return null;
  return (
    <ul class="drawings" aria-label="Being drawn">
      {drawings.value.map((drawing) => (
        <DrawingItem key={drawing.running.id} drawing={drawing} />
      ))}
    </ul>
  );
}

function DrawingItem({ drawing }: { drawing: RunningDrawing }) {
  const { phase, share, text, previews } = drawing.progress.value;
  const { prompt } = drawing.running.configuration;
  return (
    <li>
      <p class="prompt">{prompt || 'Without a prompt'}</p>
      <progress
        aria-label={`Progress of ${prompt || 'a request without a prompt'}`}
        max={1}
        value={phase === 'drawing' ? share : undefined}
      />
      <span class="muted">{text}</span>
      <button type="button" onClick={() => stop(drawing)}>
        Stop
      </button>
      {previews.length > 0 && (
        <div class="previews">
          {previews.map((preview, at) => (
            <img key={at} src={preview} alt={`Preview of image ${at + 1}`} />
          ))}
        </div>
      )}
    </li>
  );
}
