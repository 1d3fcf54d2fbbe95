"""The style sheets: one for every record, one for views, one for groups and picks, one for
reports, one for curves in them, one for checks, one for differences, one for whole pages."""

STYLE = """
.vd{--vd-up:#2f7fc1;--vd-down:#d9730d;--vd-yes:#0c7d62;--vd-no:#cf3a63;--vd-line:rgba(128,128,128,.28);
--vd-tint:rgba(128,128,128,.09);color:var(--jp-content-font-color1,var(--vscode-editor-foreground,inherit));
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
max-width:860px;font-variant-numeric:tabular-nums;text-align:left;overflow-wrap:anywhere}
[data-jp-theme-light=false] .vd,.vscode-dark .vd,.vscode-high-contrast:not(.vscode-high-contrast-light) .vd,
html[theme=dark] .vd,[data-md-color-scheme=slate] .vd{--vd-up:#58a6e6;--vd-down:#f0923e;--vd-up-rgb:88,166,230;
--vd-down-rgb:240,146,62}
.vd .vd-bare{display:none}
.vd *{box-sizing:border-box}
.vd p,.vd h3,.vd dl,.vd dd,.vd dt,.vd ol,.vd ul{margin:0;padding:0}
.vd dd,.vd dt{float:none;width:auto}
.vd .vd-say{display:flex;flex-wrap:wrap;align-items:baseline;gap:.15em 1.6em;margin:0 0 .9em}
.vd h3{font-size:1.2em;font-weight:650;line-height:1.3;letter-spacing:-.01em}
.vd .vd-say span{opacity:.75}
.vd .vd-say b{font-weight:650}
.vd .vd-verdict{display:flex;gap:.85em;align-items:flex-start;padding:.8em 1em;margin:0 0 1.2em;
border:1px solid;border-left-width:5px;border-radius:8px}
.vd .vd-verdict.vd-yes{border-color:var(--vd-yes);background:rgba(12,125,98,.1)}
.vd .vd-verdict.vd-no{border-color:var(--vd-no);background:rgba(207,58,99,.1)}
.vd .vd-mark{flex:none;width:1.55em;height:1.55em;margin-top:.05em;border-radius:50%;color:#fff;
font-weight:700;line-height:1.55em;text-align:center}
.vd .vd-yes .vd-mark{background:var(--vd-yes)}
.vd .vd-no .vd-mark{background:var(--vd-no)}
.vd .vd-verdict strong{display:block;font-weight:650}
.vd table{width:100%;margin:0;border-collapse:collapse;table-layout:fixed;font-size:1em;border:0}
.vd thead th{font-size:.8em;font-weight:500;opacity:.7;padding:0 0 .35em}
.vd thead tr{border:0}
.vd tbody tr,.vd tbody tr:nth-child(n),.vd tbody tr:hover{background:none;border:0;
border-top:1px solid var(--vd-line)}
.vd th,.vd td{border:0;padding:0;text-align:left;vertical-align:middle;white-space:normal;max-width:none;
color:inherit;background:none}
.vd tbody th{font-weight:450;padding:.35em 1em .35em 0}
.vd .vd-w,.vd .vd-i{text-align:right;white-space:nowrap}
.vd td.vd-w{font-weight:600}
.vd .vd-i{opacity:.75;font-size:.87em}
.vd col.vd-cn{width:32%}.vd col.vd-cw{width:5.6em}.vd col.vd-ci{width:10.8em}
.vd svg{display:block;width:100%;height:32px;overflow:visible}
.vd .vd-axis{stroke:currentColor;stroke-opacity:.45}
.vd .vd-whisk{stroke:currentColor;stroke-width:1.6;fill:none}
.vd svg *{vector-effect:non-scaling-stroke}
.vd .vd-up{fill:var(--vd-up)}.vd .vd-down{fill:var(--vd-down)}
.vd .vd-key{display:flex;flex-wrap:wrap;gap:.2em 1.4em;margin:.7em 0 1.3em;font-size:.84em}
.vd .vd-key i{display:inline-block;width:.8em;height:.8em;margin-right:.45em;border-radius:2px}
.vd dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:1em 1.6em;
padding:.95em 1.1em;background:var(--vd-tint);border-radius:8px}
.vd dt{font-size:.8em;font-weight:500;opacity:.75}
.vd dd{font-size:1.12em;font-weight:600;line-height:1.35}
.vd dd small{display:block;font-size:.74em;font-weight:400;opacity:.8}
.vd dl+table{margin:1.6em 0 0}
.vd .vd-notes{list-style:none;margin:1.3em 0 0;padding-left:1em;font-size:.9em;
border-left:2px solid var(--vd-line)}
.vd .vd-notes li{margin:.35em 0}
.vd .vd-path{display:flex;flex-wrap:wrap;gap:.4em;list-style:none;margin:.35em 0 0}
.vd .vd-path li{margin:0;padding:.1em .65em;border:1px solid var(--vd-line);border-radius:99px}
.vd details{border-top:1px solid var(--vd-line)}
.vd details>div{padding:.7em 0 2em}
.vd summary{cursor:pointer;padding:.6em .2em}
.vd summary .vd-mark{display:inline-block;width:1.35em;height:1.35em;line-height:1.35em;margin:0 .6em 0 .3em;
font-size:.82em}
.vd th small{opacity:.7;font-weight:400;font-size:.9em}
.vd summary small{opacity:.75;margin-left:.7em;font-size:.87em}
.vd .vd-list{margin:1.6em 0 0}
@media(max-width:620px){.vd thead{display:none}.vd table,.vd tbody{display:block}
.vd tbody tr{display:grid;grid-template-columns:1fr auto;padding:.45em 0}
.vd tbody th{padding:0 .8em 0 0}.vd .vd-b{grid-column:1/3;grid-row:2}
.vd .vd-i{grid-column:1/3;grid-row:3}.vd svg{height:24px}.vd colgroup{display:none}}
@media(max-width:620px){.vd dl{grid-template-columns:repeat(auto-fit,minmax(118px,1fr));gap:.8em 1em}}
@media(forced-colors:active){.vd svg,.vd i,.vd mark,.vd .vd-mark,.vd .vd-badge{forced-color-adjust:none}}
@media print{.vd{max-width:none;color:#000;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.vd tr,.vd .vd-verdict,.vd dl,.vd summary{break-inside:avoid}.vd h3,.vd h4{break-after:avoid}
.vd details:not(.vd-sheet)::details-content{content-visibility:visible;block-size:auto}}
"""
VIEW_STYLE = """
.vd{--vd-up-deep:#1d5d97;--vd-down-deep:#a34a00;--vd-up-rgb:47,127,193;--vd-down-rgb:217,115,13}
.vd .vd-view{margin:0 0 1.2em}
.vd figure{margin:0;min-width:0}
.vd figcaption{margin:0 0 .3em;font-size:.82em;opacity:.75}
.vd .vd-view>figure+figure,.vd .vd-one>figure+figure{margin-top:.7em}
.vd .vd-pair,.vd .vd-strip{display:flex;flex-wrap:wrap;gap:1em 1.2em;align-items:flex-start}
.vd .vd-stage{display:grid;grid-template-columns:minmax(0,var(--w,1fr));justify-content:start}
.vd .vd-ruled{grid-template-columns:3.6em minmax(0,1fr);justify-content:stretch}
.vd .vd-wide{justify-content:stretch}
.vd figcaption+.vd-ruled{margin-top:.55em}
.vd .vd-strip .vd-stage+.vd-stage{margin-top:.4em}
.vd .vd-plot{position:relative;width:var(--w,100%);max-width:100%;aspect-ratio:var(--r);height:var(--h,auto);
background:var(--vd-tint);border-radius:3px}
.vd .vd-plot>svg{position:absolute;left:0;top:0;width:100%;height:100%;overflow:hidden;border-radius:3px}
.vd .vd-sharp{image-rendering:pixelated}
.vd .vd-light{filter:grayscale(1) invert(1) contrast(.8) brightness(1.12)}
.vd .vd-gray{filter:grayscale(1) contrast(.62) brightness(1.22)}
.vd .vd-ground{fill:#fff}
.vd .vd-borders{fill:none;stroke:#fff;stroke-opacity:.5;stroke-width:.8}
.vd .vd-part{fill-opacity:calc(.08 + .5*var(--s));stroke-width:1.6;stroke-opacity:calc(.35 + .65*var(--s))}
.vd .vd-part.vd-up{stroke:var(--vd-up-deep)}
.vd .vd-part.vd-down{stroke:var(--vd-down-deep);stroke-dasharray:5 3}
.vd .vd-part.vd-unsure{stroke:none}
.vd .vd-part:hover{fill-opacity:calc(.25 + .5*var(--s));stroke-opacity:1}
.vd .vd-line{fill:none;stroke:currentColor;stroke-width:1.4;stroke-linejoin:round;stroke-linecap:round}
.vd .vd-area{fill:currentColor;fill-opacity:.75;pointer-events:none}
.vd .vd-line{pointer-events:none}
.vd .vd-badge{display:inline-block;min-width:1.5em;height:1.5em;padding:0 .3em;border-radius:.75em;color:#fff;
background:var(--vd-up-deep);font-size:.74em;font-weight:700;line-height:1.5em;text-align:center;
margin-right:.7em;vertical-align:.1em}
.vd .vd-badge.vd-down{background:var(--vd-down-deep)}
.vd .vd-badge.vd-unsure{background:#fff;color:var(--vd-up-deep);box-shadow:inset 0 0 0 1.5px currentColor}
.vd .vd-badge.vd-down.vd-unsure{color:var(--vd-down-deep)}
.vd .vd-plot>.vd-badge{position:absolute;margin:-.75em 0 0 -.75em;cursor:default}
.vd .vd-plot>.vd-badge:not(.vd-unsure){box-shadow:0 0 0 1.5px #fff}
.vd .vd-plot>.vd-badge:hover::after,.vd .vd-plot>.vd-badge:focus::after{content:attr(aria-label);position:absolute;
z-index:9;left:0;top:calc(100% + 5px);width:max-content;max-width:230px;padding:.45em .7em;border-radius:6px;
background:#1d2126;color:#fff;font:500 12px/1.4 system-ui,sans-serif;text-align:left;white-space:normal;
box-shadow:0 2px 10px rgba(0,0,0,.35);pointer-events:none}
.vd .vd-flip::after{left:auto!important;right:0}
.vd .vd-rise::after{top:auto!important;bottom:calc(100% + 5px)}
.vd .vd-frame{position:relative}
.vd .vd-badge:focus-visible,.vd .vd-text:focus-visible{outline:2.5px solid currentColor;outline-offset:2px}
.vd .vd-badge:hover,.vd .vd-badge:focus{z-index:8}
.vd .vd-y,.vd .vd-x{position:relative;font-size:.74em;opacity:.8;white-space:nowrap}
.vd .vd-ruled>.vd-x{grid-column:2}
.vd .vd-x{height:2em}
.vd .vd-y span{position:absolute;right:.6em;transform:translateY(-50%)}
.vd .vd-x span{position:absolute;top:.25em;transform:translateX(-50%)}
.vd .vd-text{max-height:27em;overflow:auto;padding:.9em 1.1em;border:1px solid var(--vd-line);border-radius:8px;
white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate;line-height:1.75}
.vd mark{color:inherit;border-radius:3px;padding:.06em .1em;margin:0 -.07em;
background:rgba(var(--vd-up-rgb),calc(.07 + .45*var(--s)));border-bottom:2px solid rgba(var(--vd-up-rgb),
calc(.4 + .6*var(--s)))}
.vd mark.vd-down{background:rgba(var(--vd-down-rgb),calc(.07 + .45*var(--s)));border-bottom:2px dashed
rgba(var(--vd-down-rgb),calc(.4 + .6*var(--s)))}
.vd mark.vd-unsure{border-bottom-color:transparent}
.vd .vd-players{display:flex;flex-wrap:wrap;gap:.9em 1.2em;margin:.9em 0 0}
.vd .vd-players figure{flex:1 1 195px}
.vd audio{display:block;width:100%;height:36px}
.vd i.vd-up{background:var(--vd-up)}.vd i.vd-down{background:var(--vd-down)}
.vd figcaption i{display:inline-block;width:.8em;height:.8em;margin-right:.45em;border-radius:2px}
.vd .vd-aside{margin:.5em 0 0;font-size:.82em;opacity:.75}
.vd .vd-one{margin:0 0 1.3em}
.vd .vd-field{display:flex;flex-wrap:wrap;align-items:center;gap:.2em .9em;margin:0 0 .5em}
.vd .vd-field b{font-weight:650}
.vd .vd-field small{opacity:.8}
.vd .vd-field span{flex:1 1 90px;max-width:220px;height:6px;border-radius:3px;background:var(--vd-line)}
.vd .vd-field i{display:block;height:6px;border-radius:3px;background:currentColor;opacity:.65}
.vd .vd-view>.vd-key{margin:.9em 0 0}
.vd .vd-view+table{margin-top:1.4em}
@media(max-width:620px){.vd .vd-plot>svg{height:100%}.vd .vd-text{padding:.7em .8em}}
@media print{.vd .vd-text{max-height:none;overflow:visible}.vd audio{display:none}
.vd .vd-players{display:none}.vd figure,.vd mark{break-inside:avoid}}
"""
SUMMARY_STYLE = """
.vd h4{margin:1.5em 0 .6em;font-size:1.05em;font-weight:650;line-height:1.3}
.vd .vd-lead{margin:0 0 .5em}
.vd .vd-where{margin:0 0 .8em;font-size:.92em;line-height:1.45}
.vd .vd-cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr));gap:1em;
margin:1.4em 0 0}
.vd .vd-card{display:flex;flex-direction:column;min-width:0;padding:1em 1.1em;border:1px solid var(--vd-line);
border-radius:8px}
.vd .vd-card header{display:flex;flex-wrap:wrap;align-items:baseline;justify-content:space-between;gap:0 1em;
margin:0 0 .35em}
.vd .vd-card h4{margin:0}
.vd .vd-card header span{font-size:.9em;opacity:.8}
.vd .vd-card thead,.vd .vd-card colgroup{display:none}
.vd .vd-card table,.vd .vd-card tbody{display:block}
.vd .vd-card tbody tr{display:grid;grid-template-columns:1fr auto 10.5em;align-items:baseline;padding:.3em 0 .15em}
.vd .vd-card tbody th{padding:0 .6em 0 0}
.vd .vd-card .vd-b{grid-column:1/4;grid-row:2}
.vd .vd-card svg{height:22px}
.vd .vd-foot{margin:auto 0 0;padding:.6em 0 0;border-top:1px solid var(--vd-line);font-size:.84em;opacity:.85}
.vd .vd-matrix{margin:1.6em 0 0}
.vd .vd-matrix col.vd-cn{width:9.5em}.vd .vd-matrix col.vd-ci{width:6.8em}
.vd .vd-matrix tbody th{padding:0 1em 0 0}
.vd .vd-matrix svg{height:34px}
.vd .vd-letters{display:flex;margin:.3em 0 0;opacity:1}
.vd .vd-letters b{flex:1 1 0;min-width:0;font-size:1.05em;font-weight:650;text-align:center;overflow-wrap:normal}
.vd .vd-letter{display:inline-block;min-width:1.6em;font-weight:650;text-indent:0}
.vd tbody th:has(>.vd-letter){padding-left:1.9em;text-indent:-1.9em}
.vd svg.vd-thumb{display:inline-block;width:40px;height:40px;margin:0 .7em 0 .2em;vertical-align:middle;
image-rendering:pixelated}
.vd .vd-grid{stroke:var(--vd-line);stroke-width:.7;fill:none}
.vd .vd-new{fill-opacity:.2}
.vd .vd-size{fill:currentColor;fill-opacity:.55}
.vd .vd-key+table{margin-top:1.6em}
.vd .vd-notes+.vd-say,.vd table+.vd-say{margin-top:2.4em}
@media(max-width:620px){.vd .vd-matrix thead{display:block}
.vd .vd-matrix tr{display:grid;grid-template-columns:1fr auto 6.5em;align-items:baseline}
.vd .vd-matrix thead th:nth-child(2){grid-column:1/4;grid-row:2}
.vd .vd-matrix .vd-b{grid-column:1/4;grid-row:2}.vd .vd-matrix .vd-i{grid-column:auto;grid-row:auto}
.vd .vd-matrix svg{height:30px}}
@media(max-width:620px){.vd .vd-card{padding:.8em .9em}.vd .vd-card .vd-i{grid-column:auto;grid-row:auto}}
@media print{.vd .vd-card{break-inside:avoid}}
"""
REPORT_STYLE = """
.vd .vd-family{margin:2.2em 0 0;padding:0;border:0}
.vd h4{margin:0 0 .5em;font-size:1.12em;font-weight:650;line-height:1.3}
.vd .vd-says{margin:0 0 1em;padding-left:1.15em}
.vd .vd-says li{margin:.2em 0}
.vd .vd-says b{font-weight:650}
.vd .vd-box{overflow-x:auto;padding:0 0 .3em}
.vd .vd-box:focus-visible{outline:2.5px solid currentColor;outline-offset:2px}
.vd table.vd-scores{width:auto;min-width:min(100%,calc(10em + var(--n,4)*14em));table-layout:auto}
.vd .vd-scores th,.vd .vd-scores td{padding:.4em 2em .3em .7em;text-align:right;vertical-align:top;
white-space:nowrap;overflow-wrap:normal}
.vd .vd-scores th:first-child{padding-left:0;padding-right:.6em;text-align:left}
.vd .vd-scores bdi{display:inline-block;width:max-content;max-width:14em;white-space:normal;overflow-wrap:anywhere;
vertical-align:bottom}
.vd .vd-scores thead th{vertical-align:bottom;opacity:1;font-size:.86em;font-weight:600;padding-bottom:.45em}
.vd .vd-scores td{min-width:8.8em;line-height:1.3}
.vd .vd-scores td>i{display:inline-block;width:2.4em;margin-right:-2.4em;text-align:left;
font-style:normal;font-size:.82em}
.vd .vd-scores strong{font-weight:750}
.vd .vd-scores sup,.vd .vd-foots sup{font-size:.78em;line-height:0}
.vd .vd-scores small{display:block;padding-right:.33em;font-size:.8em;opacity:.85}
.vd .vd-scores svg{height:9px;margin-top:.15em}
.vd .vd-dot{stroke:var(--vd-up);stroke-width:6.5;stroke-linecap:round;fill:none}
.vd .vd-scores .vd-whisk{stroke-width:1.6;stroke-opacity:.75}
.vd .vd-best-null{stroke:currentColor;stroke-opacity:.4;stroke-width:1}
.vd .vd-null td,.vd .vd-null th>*{opacity:.75}
.vd .vd-null small{opacity:1}
.vd .vd-scores .vd-over th{padding-top:.7em;font-size:.88em;white-space:nowrap}
.vd .vd-over span{display:inline-block;position:sticky;left:0}
.vd .vd-scores .vd-name{text-align:left}
.vd .vd-pairs td{min-width:0;padding-right:.7em;padding-top:.4em}
.vd .vd-pairs th{padding-right:.7em}
.vd .vd-foots{list-style:none;margin:.6em 0 0;font-size:.86em}
.vd .vd-foots li{margin:.2em 0}
.vd .vd-family details{margin:.7em 0 0}
.vd .vd-family details ul{padding-left:1.15em;font-size:.92em}
.vd .vd-family summary{font-size:.92em}
.vd .vd-report>.vd-key{margin:1.8em 0 0;padding-top:.8em;border-top:1px solid var(--vd-line)}
@media(max-width:620px){.vd .vd-scores thead{display:table-header-group}.vd table.vd-scores{display:table}
.vd .vd-scores tbody{display:table-row-group}.vd .vd-scores tbody tr{display:table-row}
.vd .vd-scores th:first-child bdi{max-width:8.5em}}
@media print{.vd .vd-box{overflow:visible}}
"""
CURVE_STYLE = """
.vd{--vd-0:#2874b5;--vd-1:#b85c00;--vd-2:#0c7d62;--vd-3:#a8559b;--vd-4:#8a6d1f;--vd-5:#cf3a63;--vd-6:#4a6fd0;
--vd-7:#5f7d2c}
.vd .vd-curves{margin:0 0 1.6em}
.vd .vd-curves figcaption{max-width:62ch;margin:0 0 .9em}
.vd .vd-curves .vd-line{stroke-width:2.2}
.vd .vd-c0{stroke:var(--vd-0)}.vd .vd-c1{stroke:var(--vd-1)}.vd .vd-c2{stroke:var(--vd-2)}
.vd .vd-c3{stroke:var(--vd-3)}.vd .vd-c4{stroke:var(--vd-4)}.vd .vd-c5{stroke:var(--vd-5)}
.vd .vd-c6{stroke:var(--vd-6)}.vd .vd-c7{stroke:var(--vd-7)}
.vd .vd-b0{background:var(--vd-0)}.vd .vd-b1{background:var(--vd-1)}.vd .vd-b2{background:var(--vd-2)}
.vd .vd-b3{background:var(--vd-3)}.vd .vd-b4{background:var(--vd-4)}.vd .vd-b5{background:var(--vd-5)}
.vd .vd-b6{background:var(--vd-6)}.vd .vd-b7{background:var(--vd-7)}
.vd .vd-curves .vd-known{stroke:currentColor;stroke-width:1.6}
.vd .vd-curves .vd-nothing{stroke:#868b92;stroke-width:1.4}
.vd .vd-known.vd-d1{stroke-dasharray:7 4}.vd .vd-nothing.vd-d0{stroke-dasharray:2 3}
.vd .vd-nothing.vd-d1{stroke-dasharray:8 3 2 3}.vd .vd-nothing.vd-d2{stroke-dasharray:10 5}
.vd .vd-curves .vd-key span{display:inline-flex;align-items:center;gap:.5em}
.vd .vd-curves .vd-key svg{width:28px;height:10px;flex:none}
.vd .vd-found{margin-top:1.4em}
.vd .vd-aside+.vd-view{margin-top:.7em}
"""
CHECK_STYLE = """
.vd .vd-verdict.vd-none{border-color:var(--vd-line);background:var(--vd-tint)}
.vd .vd-none .vd-mark{background:#6b7078}
.vd h4{margin:0 0 .4em;font-size:1.12em;font-weight:650;line-height:1.3}
.vd .vd-family{margin:2.4em 0 0;padding:0;border:0}
.vd .vd-box{overflow-x:auto;padding:0 0 .3em}
.vd .vd-box:focus-visible{outline:2.5px solid currentColor;outline-offset:2px}
.vd table.vd-outcomes{margin:1.8em 0 0;table-layout:auto}
.vd .vd-outcomes th:first-child{min-width:11em;padding-right:1.4em}
.vd .vd-outcomes th small{display:block;font-size:.87em;opacity:.75;font-weight:400}
.vd .vd-outcomes thead th{padding-right:1.2em;white-space:nowrap;overflow-wrap:normal}
.vd .vd-outcomes td{padding:.3em 1em .3em 0;white-space:nowrap;font-weight:550}
.vd .vd-outcomes .vd-mark,.vd .vd-line>.vd-mark{display:inline-block;width:1.45em;height:1.45em;line-height:1.45em;
margin:0 .6em 0 0;font-size:.78em}
.vd .vd-outcomes td.vd-none{opacity:.75;font-weight:400}
.vd .vd-line{display:grid;grid-template-columns:auto minmax(7.5em,13em) 1fr;gap:0 .9em;align-items:baseline;
padding:.65em 0;list-style-position:outside}
.vd div.vd-line{border-top:1px solid var(--vd-line)}
.vd .vd-line>.vd-mark{margin:0}
.vd .vd-line b{font-weight:650}
.vd .vd-name>span{display:block;font-size:.87em;opacity:.75}
.vd .vd-said{font-size:.94em}
.vd summary.vd-line .vd-said::after{content:" ▾";opacity:.6}
.vd details[open]>summary.vd-line .vd-said::after{content:" ▴"}
.vd summary.vd-line::-webkit-details-marker{display:none}
.vd .vd-family>details>div{padding:.2em 0 1.6em 2.2em}
.vd table.vd-measures{width:auto;min-width:100%;table-layout:auto}
.vd .vd-measures th,.vd .vd-measures td{padding:.3em 0 .3em 1.1em;text-align:right;white-space:nowrap;
overflow-wrap:normal}
.vd .vd-measures th:first-child{padding-left:0;text-align:left}
.vd .vd-measures th:first-child bdi{display:inline-block;width:max-content;max-width:17em;white-space:normal;
overflow-wrap:anywhere;vertical-align:top}
.vd .vd-measures thead th{vertical-align:bottom;font-size:.82em}
.vd .vd-measures .vd-b{width:20%;min-width:7.5em}
.vd .vd-measures tbody{font-size:.94em}
.vd .vd-want{stroke:currentColor;stroke-width:1.4;stroke-dasharray:2 2;fill:none}
.vd .vd-measures svg{height:16px}
.vd .vd-measures .vd-null{opacity:.72;font-weight:400}
.vd .vd-measures strong{font-weight:700}
.vd .vd-dot{stroke:var(--vd-up);stroke-width:8;stroke-linecap:round;fill:none}
.vd .vd-nothing{stroke:#868b92;stroke-width:2.2;fill:none}
.vd .vd-measures+.vd-key{margin:.5em 0 .6em}
.vd .vd-box+.vd-key{margin:.4em 0 .9em}
.vd .vd-family .vd-aside{margin:1.2em 0 .4em;font-size:.92em;font-weight:600}
.vd .vd-evidence{margin:1em 0 0}
.vd .vd-evidence>summary{font-weight:600}
.vd .vd-evidence>div{padding:0 0 0 1.2em}
@media(max-width:620px){.vd .vd-measures thead,.vd .vd-outcomes thead{display:table-header-group}
.vd table.vd-measures,.vd table.vd-outcomes{display:table}
.vd .vd-measures tbody,.vd .vd-outcomes tbody{display:table-row-group}
.vd .vd-measures tbody tr,.vd .vd-outcomes tbody tr{display:table-row}
.vd .vd-line{grid-template-columns:auto 1fr}.vd .vd-said{grid-column:1/3}
.vd .vd-family>details>div{padding-left:0}}
@media print{.vd .vd-box{overflow:visible}.vd .vd-measures{font-size:.78em}.vd .vd-measures .vd-b{min-width:4em}}
"""
DIFFERENCE_STYLE = """
.vd h4{margin:1.5em 0 .6em;font-size:1.05em;font-weight:650;line-height:1.3}
.vd .vd-sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));gap:1em;
margin:0 0 1.4em}
.vd .vd-side{min-width:0;padding:.9em 1.1em;border:1px solid var(--vd-line);border-radius:8px}
.vd .vd-side h4{margin:0 0 .4em}
.vd .vd-side p{margin:0 0 .3em;font-size:.92em}
.vd .vd-side .vd-view{margin:.9em 0 0}
.vd .vd-difference col.vd-cn{width:26%}.vd .vd-difference col.vd-cw{width:5.4em}
.vd .vd-difference col.vd-ci{width:9.6em}
.vd .vd-neutral{background:#565d66}
.vd .vd-two svg{height:18px}
.vd .vd-two svg:first-child rect{fill-opacity:.3;stroke-width:1.5}
.vd .vd-two svg:first-child .vd-up{stroke:var(--vd-up)}.vd .vd-two svg:first-child .vd-down{stroke:var(--vd-down)}
.vd .vd-apart{padding:0 0 0 1em}
.vd .vd-difference td.vd-w div:first-child{font-weight:450}
.vd .vd-difference td.vd-i{opacity:1}
.vd .vd-larger td.vd-i div{font-weight:650}
.vd .vd-difference td small{opacity:.8}
@media(max-width:620px){.vd .vd-difference .vd-b{grid-column:1/3;grid-row:auto}
.vd .vd-difference .vd-apart{padding:.3em 0 0}.vd .vd-difference .vd-two{grid-row:2}
.vd .vd-difference td.vd-i{grid-row:auto}}
"""
PAGE_STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1d2126}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:900px;margin:0 auto;padding:56px 20px 72px}
h1{margin:0;font-size:2em;font-weight:700;line-height:1.2;letter-spacing:-.02em;overflow-wrap:anywhere}
h2{margin:0 0 1em;font-size:1.25em;font-weight:650;overflow-wrap:anywhere}
.lead{max-width:65ch;margin:.7em 0 0;font-size:1.08em;opacity:.8;overflow-wrap:anywhere}
section{margin:2.6em 0 0}
section+section{padding-top:2.6em;border-top:1px solid rgba(128,128,128,.28)}
nav{margin:1.6em 0 0}
nav ol{margin:0;padding:0 0 0 1.4em}
nav li{margin:.15em 0;overflow-wrap:anywhere}
a{color:inherit;text-decoration-color:rgba(128,128,128,.7);text-underline-offset:.18em}
a:hover{text-decoration-color:currentColor}
a:focus-visible,summary:focus-visible{outline:2.5px solid currentColor;outline-offset:2px}
.text{max-width:65ch;margin:-.4em 0 1.2em;overflow-wrap:anywhere}
.vd{max-width:none}
.vd .vd-scores tr>th:first-child{position:sticky;left:0;z-index:1;background:var(--paper)}
footer{margin:4em 0 0;font-size:.84em;opacity:.65}
@media(max-width:620px){main{padding:28px 16px 40px}h1{font-size:1.55em}}
@media(prefers-color-scheme:dark){:root{--paper:#15181c;--ink:#e4e7ea}
.vd{--vd-up:#58a6e6;--vd-down:#f0923e;--vd-up-rgb:88,166,230;--vd-down-rgb:240,146,62}}
@media print{:root{color-scheme:light;--paper:#fff;--ink:#000}main{max-width:none;padding:0}
.vd{--vd-up:#2f7fc1;--vd-down:#d9730d;--vd-up-rgb:47,127,193;--vd-down-rgb:217,115,13}
h2{break-after:avoid}nav a{text-decoration:none}}
"""
