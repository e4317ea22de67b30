"use strict";
// Shows the values below the pointer; left and right move through them.

const charts = JSON.parse(document.getElementById("data").textContent);

function nearest(points, x) {
  return points.reduce((best, point) =>
    Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best);
}

document.querySelectorAll("figure").forEach((element, number) => {
  const curves = charts[number];
  const picture = element.querySelector(".chart");
  const outputs = element.querySelectorAll("output");
  const marks = element.querySelectorAll(".here");
  const longest = curves.reduce((a, b) => (b.length > a.length ? b : a));
  const latest = longest.length - 1;
  let at = latest;

  function show(x) {
    at = longest.indexOf(nearest(longest, x));
    curves.forEach((points, i) => {
      const [left, top, text] = nearest(points, x);
      marks[i].setAttribute("cx", left);
      marks[i].setAttribute("cy", top);
      outputs[i].textContent = text;
    });
  }

  function leave() {
    show(picture.viewBox.baseVal.width);
    marks.forEach((mark) => mark.removeAttribute("cx"));
  }

  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    show(((event.clientX - box.left) / box.width) * picture.viewBox.baseVal.width);
  });
  picture.addEventListener("pointerleave", leave);
  picture.addEventListener("blur", leave);
  picture.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by) {
      event.preventDefault();
      show(longest[Math.min(latest, Math.max(0, at + by))][0]);
    }
  });
});
