// Painting of a mask over the image that a request starts from: with a brush, or by the numbers of a rectangle.

import { useEffect, useRef, useState } from 'preact/hooks';
import { sources } from './form-state.ts';
import { type Brush, coverOf, fillRectangle, maskOf, type Point, startMask, stroke } from './mask.ts';

const SIDES = ['Left', 'Top', 'Width', 'Height'] as const;

export function MaskEditor({ image }: { image: Blob }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const last = useRef<Point | null>(null);
  const [url, setUrl] = useState('');
  const [brush, setBrush] = useState<Brush>({ size: 20, erases: false });
  const [cover, setCover] = useState(0);

  /** Takes what the canvas shows as the mask; an empty one is none. */
  const take = async (): Promise<void> => {
    const painted = coverOf(canvas.current!);
    setCover(painted);
    const mask = painted > 0 ? await maskOf(canvas.current!) : undefined;
    if (sources.value.image === image) sources.value = { ...sources.value, mask };
  };
  useEffect(() => {
    const made = URL.createObjectURL(image);
    setUrl(made);
    void startMask(canvas.current!, image, sources.value.mask).then(() => setCover(coverOf(canvas.current!)));
    return () => URL.revokeObjectURL(made);
  }, [image]);

  const paint = (event: PointerEvent): void => {
    const shown = canvas.current!.getBoundingClientRect();
    const scale = canvas.current!.width / shown.width;
    const to = { x: (event.clientX - shown.left) * scale, y: (event.clientY - shown.top) * scale };
    const size = (brush.size / 100) * canvas.current!.width;
    stroke(canvas.current!, last.current ?? to, to, { ...brush, size });
    last.current = to;
  };
  const end = (): void => {
    if (last.current) void take();
    last.current = null;
  };
  return (
    <div class="mask">
      <div class="layers">
        {url !== '' && <img src={url} alt="" />}
        <canvas
          ref={canvas}
          role="img"
          aria-label="Mask over the image"
          onPointerDown={(event) => {
            canvas.current!.setPointerCapture(event.pointerId);
            paint(event);
          }}
          onPointerMove={(event) => last.current && paint(event)}
          onPointerUp={end}
          onPointerCancel={end}
        />
      </div>
      <p role="status">{Math.round(100 * cover)} per cent are drawn anew.</p>
      <BrushFields brush={brush} onBrush={setBrush} />
      <button
        type="button"
        onClick={() => {
          canvas.current!.getContext('2d')!.clearRect(0, 0, canvas.current!.width, canvas.current!.height);
          void take();
        }}
      >
        Clear the mask
      </button>
      <Rectangle
        onRectangle={(x, y, width, height, removes) => {
          fillRectangle(canvas.current!, { x, y, width, height }, removes);
          void take();
        }}
      />
    </div>
  );
}

interface BrushFieldsProps {
  /** Its size is in per cent of the image's width. */
  brush: Brush;
  onBrush(brush: Brush): void;
}

function BrushFields({ brush, onBrush }: BrushFieldsProps) {
  return (
    <>
      <label>
        Brush size
        <input
          type="range"
          min={1}
          max={50}
          value={brush.size}
          onInput={({ currentTarget }) => onBrush({ ...brush, size: Number(currentTarget.value) })}
        />
      </label>
      <label class="switch">
        <input
          type="checkbox"
          checked={brush.erases}
          onChange={({ currentTarget }) => onBrush({ ...brush, erases: currentTarget.checked })}
        />
        Erase
      </label>
    </>
  );
}

interface RectangleProps {
  /** In pixels of the image. */
  onRectangle(x: number, y: number, width: number, height: number, removes: boolean): void;
}

/** The way to paint without a pointer. */
function Rectangle({ onRectangle }: RectangleProps) {
  const [sides, setSides] = useState([0, 0, 64, 64]);
  const [x = 0, y = 0, width = 0, height = 0] = sides;
  return (
    <fieldset>
      <legend>Rectangle in pixels</legend>
      <div class="fields">
        {SIDES.map((side, at) => (
          <label key={side}>
            {side}
            <input
              type="number"
              min={0}
              value={sides[at]}
              onInput={({ currentTarget }) => setSides(sides.with(at, Number(currentTarget.value)))}
            />
          </label>
        ))}
      </div>
      <div class="buttons">
        <button type="button" onClick={() => onRectangle(x, y, width, height, false)}>
          Paint the rectangle
        </button>
        <button type="button" onClick={() => onRectangle(x, y, width, height, true)}>
          Erase the rectangle
        </button>
      </div>
    </fieldset>
  );
}
