//! What pages look like: in light and in dark, on a phone and on a desk, without anything from elsewhere.

/// The style of all pages. Colours are variables, which the dark ones replace. What is too wide for a window scrolls by
/// itself, with a shadow where there is more of it: at the ends, what scrolls along with it covers the shadow.
pub(crate) const STYLE: &str = "
:root { color-scheme: light dark; --text: #1c2733; --quiet: #5a6b7d; --line: #d5dce4; --page: #fff; --raised: #f4f6f9;
  --good: #19703a; --warning: #8a5300; --bad: #b3261e;
  --k0: #0072b2; --k1: #c04f00; --k2: #00805d; --k3: #a8508a; --k4: #2b86bd; --k5: #946200; --k6: #6250a8; --k7: #7a4a1c; }
@media (prefers-color-scheme: dark) { :root { --text: #e3e9f0; --quiet: #9fb0c1; --line: #37444f; --page: #12181f; --raised: #1b242d;
  --good: #6fcf93; --warning: #f0b35b; --bad: #ff8a80;
  --k0: #56b4e9; --k1: #ff9248; --k2: #35c79c; --k3: #e29ac6; --k4: #8fd0f5; --k5: #e6b422; --k6: #b3a4f0; --k7: #cf9f70; } }
.c0 { --own: var(--k0); } .c1 { --own: var(--k1); } .c2 { --own: var(--k2); } .c3 { --own: var(--k3); }
.c4 { --own: var(--k4); } .c5 { --own: var(--k5); } .c6 { --own: var(--k6); } .c7 { --own: var(--k7); }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 1.5rem auto; max-width: 72rem; padding: 0 1rem; color: var(--text); background: var(--page);
  overflow-wrap: break-word; }
h1, h2, h3 { line-height: 1.2; }
h1 { font-size: 1.6rem; }
h2 { border-top: 2px solid var(--text); padding-top: 1.2rem; margin-top: 2.5rem; }
h3 { margin-top: 2rem; }
a { color: var(--k0); }
nav ul { columns: 16rem 2; padding-left: 1.2rem; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; white-space: nowrap; }
.long { white-space: normal; min-width: 18rem; }
th { border-bottom: 2px solid var(--text); }
.number { text-align: right; }
.scroll { overflow-x: auto; margin: 0.8rem 0; background:
  linear-gradient(to right, var(--page), transparent) left / 2.5rem 100% no-repeat local,
  linear-gradient(to left, var(--page), transparent) right / 2.5rem 100% no-repeat local,
  linear-gradient(to right, var(--quiet), transparent) left / 0.7rem 100% no-repeat scroll,
  linear-gradient(to left, var(--quiet), transparent) right / 0.7rem 100% no-repeat scroll; }
.kind, figcaption, footer { color: var(--quiet); font-size: 0.9rem; }
.holds { color: var(--good); }
.misses { color: var(--bad); }
figure { margin: 1rem 0; }
figure > .scroll > svg { display: block; }
svg { max-width: 100%; height: auto; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 0.6rem; padding: 0; margin: 1rem 0; }
.tiles > div { background: var(--raised); border-radius: 6px; padding: 0.6rem 0.8rem; }
.tiles dt { color: var(--quiet); font-size: 0.85rem; }
.tiles dd { margin: 0; font-size: 1.25rem; font-variant-numeric: tabular-nums; line-height: 1.3; }
.tiles dd.remark { font-size: 0.85rem; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1rem; }
dl.facts dt { color: var(--quiet); } dl.facts dd { margin: 0; min-width: 0; white-space: pre-line; }
.good { color: var(--good); } .warning { color: var(--warning); } .bad { color: var(--bad); }
.legend { list-style: none; padding: 0; margin: 0.5rem 0; font-size: 0.9rem; }
.legend li { padding-left: 1.3rem; position: relative; }
.legend li::before { content: ''; position: absolute; left: 0; top: 0.35em; width: 0.8rem; height: 0.8rem; border-radius: 2px; background: var(--own); }
svg.network, svg.chart, svg.gantt { width: 100%; font: 14px system-ui, sans-serif; fill: var(--text); font-variant-numeric: tabular-nums; }
svg.network { font-size: 12px; } svg.chart { max-width: 600px; } svg.gantt { min-width: 640px; max-width: 900px; }
svg .box { fill: var(--own); fill-opacity: 0.16; stroke: var(--own); stroke-width: 1.5; }
svg .what, svg .where { text-anchor: middle; } svg .where { fill: var(--quiet); font-size: 11px; }
svg .edge { fill: none; stroke: var(--quiet); stroke-width: 1.2; }
svg .grid { stroke: var(--line); } svg .level { paint-order: stroke; stroke: var(--page); stroke-width: 4px; }
svg .limit { stroke: var(--quiet); stroke-dasharray: 5 4; }
svg .front { fill: none; stroke: var(--own); stroke-width: 2; } svg .band { fill: var(--own); fill-opacity: 0.25; }
svg .point { fill: var(--own); } svg .ring { fill: none; stroke: var(--own); stroke-width: 2; } svg .mark { font-weight: 600; }
svg .bar { fill: var(--own); fill-opacity: 0.45; stroke: var(--own); } svg .dot { fill: var(--own); stroke: var(--page); stroke-width: 0.5; }
";
