// The page's style sheet: light and dark, wide and narrow.
#include "studies/print/page/html_text.h"

namespace stepcast::print {

/// Blue for forecasts and vermilion for those beside their interval are told apart with all kinds of colour vision
/// (Okabe and Ito, Color Universal Design, 2008), and by shape besides.
const char* html_style() {
  return R"css(
:root{color-scheme:light dark;--ink:#1d1f24;--soft:#565b66;--paper:#fff;--line:#d3d6dd;--band:#e3eaf4;--head:#f3f4f7;
  --dot:#145abe;--out:#a53c00;--doubt:#74777f}
@media (prefers-color-scheme:dark){
  :root{--ink:#e4e6eb;--soft:#a7acb7;--paper:#17181c;--line:#3b3e47;--band:#263244;--head:#22242a;--dot:#8fc5f0;
    --out:#f2a06b;--doubt:#9a9da6}
}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1360px;padding:1rem;background:var(--paper);color:var(--ink);
  font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}
h2{font-size:1.2rem;margin:2.2rem 0 .5rem;border-bottom:1px solid var(--line)}
h3{font-size:1rem;margin:0}
p,ul{margin:.5rem 0;max-width:75ch}
h1,h2,h3,p,li{overflow-wrap:anywhere}
ul{padding-left:1.3rem}
.soft{color:var(--soft)}
a{color:var(--dot)}
nav{font-size:.9rem}
nav a{margin-right:.8rem;white-space:nowrap}
.figures{display:flex;flex-wrap:wrap;gap:.6rem;margin:1rem 0}
.figures div{flex:1 1 150px;border:1px solid var(--line);border-radius:6px;padding:.5rem .7rem}
.figures b{display:block;font-size:1.5rem;line-height:1.3}
.figures span{font-size:.85rem;color:var(--soft)}
.scroll{overflow-x:auto;margin:.6rem 0;border:1px solid var(--line);border-radius:6px;
  background:linear-gradient(to left,var(--paper) 40%,transparent) right/40px 100% no-repeat local,
    linear-gradient(to left,var(--line),transparent) right/16px 100% no-repeat scroll}
table{border-collapse:separate;border-spacing:0;width:100%;font-size:.87rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .5rem;text-align:left;vertical-align:top;border-top:1px solid var(--line)}
thead th{border-top:0}
td summary{font-weight:400;margin:0}
thead th{background:var(--head);vertical-align:bottom;font-weight:600}
thead th{overflow-wrap:normal}
thead th[title]{cursor:help}
tbody th{font-weight:600;position:sticky;left:0;background:var(--paper);min-width:12rem;max-width:26rem;
  overflow-wrap:break-word}
tbody th.t{font-weight:400;min-width:20rem;max-width:34rem}
td{white-space:nowrap}
th.n,td.n{text-align:right}
td.t{white-space:normal;min-width:15rem;overflow-wrap:break-word}
.panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(240px,1fr));gap:1rem}
figure{margin:0}
figcaption{font-size:.85rem;line-height:1.35}
figcaption b{display:block}
svg{display:block;width:100%;height:auto;overflow:visible}
svg text{font:11px system-ui,sans-serif;fill:var(--soft)}
.frame{fill:none;stroke:var(--line)}
.band{fill:var(--band)}
.mid{text-anchor:middle}
.end{text-anchor:end}
.line{stroke:var(--soft);stroke-width:1}
.grid{stroke:var(--line);stroke-width:.7}
.in{fill:var(--dot);fill-opacity:.55;stroke:var(--dot)}
.out{fill:none;stroke:var(--out);stroke-width:1.6}
svg text.doubt{fill:var(--doubt);font-size:16px;font-weight:700;text-anchor:middle;dominant-baseline:central}
svg.narrow{display:none}
@media screen and (max-width:600px){svg.narrow{display:block}svg.wide{display:none}}
.strip{margin:.5rem 0}
.strip svg{height:30px}
.strip .label{display:flex;justify-content:space-between;gap:1rem;font-size:.85rem}
.axis svg{height:16px}
.key{display:inline-block;width:14px;height:14px;vertical-align:-2px}
summary{cursor:pointer;font-weight:600;margin:.5rem 0}
@media (max-width:600px){
  body{padding:.7rem;font-size:14px}
  tbody th{min-width:8rem;max-width:9.5rem;overflow-wrap:break-word}
  td.t{min-width:12rem}
  tbody th.t{min-width:12rem;max-width:60vw;position:static}
}
@media print{
  .scroll{overflow:visible}
}
)css";
}

}  // namespace stepcast::print
