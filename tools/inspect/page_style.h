// SPDX-License-Identifier: Apache-2.0
// The style sheet of the inspection page.
#pragma once

namespace dovetail::tools {

inline constexpr auto kPageStyle = R"css(
:root { color-scheme: light dark; --paper: #fcfcfb; --card: #fff; --ink: #1d2125; --soft: #646d76; --line: #e2e5e8;
  --accent: #2c6f9b; --plain: #b4bcc4; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171a; --card: #1b1f23; --ink: #e6e8ea; --soft: #98a2ab;
  --line: #30363c; --accent: #6cb2dd; --plain: #56606a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 66rem; padding: 2.5rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.8rem; font-weight: 650; letter-spacing: -.01em; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; font-weight: 650; margin: 2.5rem 0 .6rem; }
h3 { font-size: .95rem; font-weight: 650; margin: 0; }
p { margin: .2rem 0 .6rem; }
.description { font-size: 1.05rem; margin: .5rem 0; max-width: 46rem; overflow-wrap: anywhere; unicode-bidi: isolate;
  white-space: pre-line; }
.badges span { display: inline-block; border: 1px solid var(--line); border-radius: 1rem; padding: .1rem .7rem;
  margin: .2rem .2rem .2rem 0; font-size: .86rem; background: var(--card); overflow-wrap: anywhere; }
.program { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .7rem .9rem;
  user-select: all; max-height: none; }
section > details { margin: .4rem 0; }
footer { margin-top: 3rem; }
.note { color: var(--soft); font-size: .86rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .9rem .28rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; unicode-bidi: isolate; }
th { font-weight: 500; color: var(--soft); white-space: nowrap; }
thead th { font-size: .82rem; }
.numbers th:not(:last-child), .numbers td:not(:last-child) { text-align: right; white-space: nowrap; }
.numbers td:last-child { min-width: 11rem; }
.facts { width: 100%; }
svg { display: block; width: 100%; height: auto; }
.bar { fill: var(--accent); }
rect.plain, .key.plain { fill: var(--plain); background: var(--plain); }
.key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 .9em; }
.scale { display: inline-block; width: 7rem; height: .8em; margin: 0 .4em 0 .9em; }
.record { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .9rem 1.1rem;
  min-width: 0; grid-column: 1 / -1; }
#records { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: .8rem; }
#records > p { grid-column: 1 / -1; }
.record.picture { grid-column: auto; display: flex; flex-direction: column; }
.record.picture:has(details[open]) { grid-column: 1 / -1; }
.picture .thumb, .picture .left-out { order: -1; align-self: flex-start; }
.caption { margin: 0; overflow-wrap: anywhere; unicode-bidi: isolate; }
.picture .thumb { width: 100%; height: 8.5rem; margin: 0 0 .5rem; }
.picture { font-size: .86rem; padding: .7rem; }
.thumb { max-width: 12rem; max-height: 9rem; min-width: 2rem; min-height: 2rem; border-radius: 4px; margin: .2rem .4rem
  .2rem 0; image-rendering: auto; object-fit: contain; background: repeating-conic-gradient(var(--line) 0 25%,
  transparent 0 50%) 0 0 / 16px 16px; }
#features { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr)); gap: .8rem;
  margin-top: .8rem; }
.feature { grid-column: auto; }
.feature h3 { overflow-wrap: anywhere; unicode-bidi: isolate; }
.feature p { margin: .2rem 0 0; }
.feature svg { margin-top: .5rem; }
#classes { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(26rem, 100%), 1fr)); gap: .8rem; }
.classes { grid-column: auto; }
.counts { width: 100%; margin-top: .4rem; }
.counts td { text-align: right; white-space: nowrap; }
.counts th { color: var(--ink); white-space: normal; unicode-bidi: isolate; }
.counts .length { width: 45%; padding-right: 0; }
.rest th { color: var(--soft); font-style: italic; }
.rest .length div { background: var(--plain); }
.length div { background: var(--accent); height: .8em; margin-top: .35em; min-width: 1px; border-radius: 2px; }
.ends { display: flex; justify-content: space-between; gap: .4rem; font-size: .82rem; border-top: 1px solid var(--line);
  font-variant-numeric: tabular-nums; }
.top { display: inline-block; margin-right: .7rem; overflow-wrap: anywhere; unicode-bidi: isolate; font-size: .86rem; }
pre, code, q { font: 12.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
pre { margin: .4rem 0 0; max-height: 22rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere;
  unicode-bidi: isolate; }
q { margin-right: .5rem; unicode-bidi: isolate; }
summary { cursor: pointer; color: var(--soft); font-size: .86rem; }
)css";

}  // namespace dovetail::tools
