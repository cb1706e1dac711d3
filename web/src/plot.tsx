// A line plot that follows its data, its width and the colours of the page.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Series { label: string; color: string; values: (number | null)[] } // color: a CSS variable

interface Props { title: string; times: number[]; series: Series[]; format: (value: number) => string; height?: number }

const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function options(props: Props, width: number): uPlot.Options {
  const axis = { stroke: css("--muted"), grid: { stroke: css("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
  return {
    width, height: props.height ?? 220,
    cursor: { drag: { x: false, y: false } },
    legend: { live: true },
    scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(high ?? 0, 1e-6) * 1.1] } },
    axes: [
      { ...axis, space: 90, values: (_, ticks) => ticks.map((at) => new Date(at * 1000).toTimeString().slice(0, 8)) },
      { ...axis, size: 62, values: (_, ticks) => ticks.map((value) => props.format(value)) },
    ],
    series: [
      { value: (_, at) => (at ? new Date(at * 1000).toTimeString().slice(0, 8) : "–"), label: "time" },
      ...props.series.map(({ label, color }) => ({
        label, stroke: css(color), fill: css(color) + "1c", width: 2, points: { show: false },
        value: (_: uPlot, value: number | null) => (value === null ? "–" : props.format(value)),
      })),
    ],
  };
}

export function Plot(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = [props.times, ...props.series.map(({ values }) => values)] as uPlot.AlignedData;
  const newest = useRef(data);
  newest.current = data;

  useEffect(() => {
    const make = () => {
      plot.current?.destroy();
      if (place.current) plot.current = new uPlot(options(props, place.current.clientWidth), newest.current, place.current);
    };
    make();
    const sizes = new ResizeObserver(() => {
      if (place.current) plot.current?.setSize({ width: place.current.clientWidth, height: props.height ?? 220 });
    });
    sizes.observe(place.current!);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", make);
    addEventListener("theme", make);
    return () => {
      sizes.disconnect();
      scheme.removeEventListener("change", make);
      removeEventListener("theme", make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, []);
  useEffect(() => plot.current?.setData(data), [props.times]);

  const last = props.series.map(({ label, values }) => `${label} ${props.format(values[values.length - 1] ?? NaN)}`).join(", ");
  return <div class="plot" role="img" aria-label={`${props.title}: now ${last}`} ref={place} />;
}

// A few numbers as a line in a table.
export function Spark({ values }: { values: number[] }) {
  const high = Math.max(...values, 1e-9);
  const points = values.map((value, i) => `${(i * 100 / Math.max(1, values.length - 1)).toFixed(1)},${(22 - 20 * value / high).toFixed(1)}`);
  return (
    <svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      {values.length > 1 && <polyline points={points.join(" ")} />}
    </svg>
  );
}
