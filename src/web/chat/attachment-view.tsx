// An attachment in a message or in the composer.

import type { Attachment } from './conversation.ts';

export function AttachmentView({ attachment, onRemove }: { attachment: Attachment; onRemove?: () => void }) {
  const { kind, name, data } = attachment;
  return (
    <figure class="attachment">
      {kind === 'image' && <img src={data} alt={name} />}
      {kind === 'audio' && <audio controls src={data} aria-label={name} />}
      {kind === 'video' && <video controls src={data} aria-label={name} />}
      {kind === 'text' ? (
        <details>
          <summary>{name}</summary>
          <pre tabIndex={0}>{data}</pre>
        </details>
      ) : (
        <figcaption>{name}</figcaption>
      )}
      {onRemove && (
        <button type="button" aria-label={`Remove ${name}`} onClick={onRemove}>
          ×
        </button>
      )}
    </figure>
  );
}
